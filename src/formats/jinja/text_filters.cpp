#include <algorithm>

#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/text_case.h"
#include "formats/jinja/words.h"

// Filters that lay out or shorten texts: text | NAME.
namespace headlight::jinja {
namespace {

std::string printed_self(const Call& call) { return printed(call.budget(), call.self); }

// Returns the size of the first characters in bytes.
std::size_t bytes_of_first(std::string_view text, std::int64_t characters) {
  std::size_t end = 0;
  for (; characters > 0 && end < text.size(); --characters) {
    end += static_cast<std::size_t>(first_character(text.substr(end)).length);
  }
  return end;
}

Value truncate(const Call& call) {
  const std::string text = printed_self(call);
  const std::int64_t length = call.whole_or(0, 255);
  const std::string end = call.text_or(2, "...");
  const bool has_leeway = call.given(3) && !call.value(3).is_none();
  const std::int64_t leeway = has_leeway ? call.value(3).whole() : 5;
  const std::int64_t kept = length - character_count(end);
  require(kept >= 0, "truncate: expected a length of at least that of the end, got ", length);
  require(leeway >= 0, "truncate: expected a leeway from 0, got ", leeway);
  if (std::int64_t{character_count(text)} - leeway <= length) {
    return call.runtime.text(text);
  }
  std::string_view start = std::string_view(text).substr(0, bytes_of_first(text, kept));
  if (!call.flag_or(1, false)) {
    start = start.substr(0, std::min(start.rfind(' '), start.size()));
  }
  return call.runtime.text(std::string(start) + end);
}

Value count_words(const Call& call) {
  std::int64_t count = 0;
  bool is_inside = false;
  const std::string text = printed_self(call);
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character character = first_character(rest);
    const bool is_word = is_letter_or_number(character.code_point) || character.code_point == U'_';
    count += is_word && !is_inside ? 1 : 0;
    is_inside = is_word;
    rest.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return Value(count);
}

Value center(const Call& call) {
  const std::string text = printed_self(call);
  const std::int64_t width = call.whole_or(0, 80);
  require(width <= 100'000, "center: expected a width of at most 100000, got ", width);
  const std::int64_t missing = std::max<std::int64_t>(width - character_count(text), 0);
  const std::int64_t left = missing / 2 + (missing & width & 1);  // as in Python
  return call.runtime.text(std::string(static_cast<std::size_t>(left), ' ') + text +
                           std::string(static_cast<std::size_t>(missing - left), ' '));
}

Value force_escape(const Call& call) {
  return Value::text(call.budget(), html_text(call.budget(), printed_self(call)), true);
}

// Writes bytes other than letters, digits and "_.-~/" as %41.
Value url_encode(const Call& call) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  constexpr std::string_view kSafe = "_.-~/";
  std::string out;
  for (const char c : printed_self(call)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || kSafe.find(c) != std::string_view::npos;
    call.budget().spend(3);
    out += is_safe ? std::string(1, c)
                   : std::string{'%', kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
  }
  return call.runtime.text(std::move(out));
}

}  // namespace

std::span<const Function> text_filters() {
  static constexpr Function kFilters[] = {
      {"truncate", "length killwords end leeway", 0, truncate},
      {"wordcount", "", 0, count_words},
      {"center", "width", 0, center},
      {"forceescape", "", 0, force_escape},
      {"urlencode", "", 0, url_encode},
  };
  return kFilters;
}

}  // namespace headlight::jinja
