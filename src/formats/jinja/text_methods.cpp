#include <algorithm>

#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/text_case.h"
#include "formats/jinja/words.h"

// Methods of Python's str.
namespace headlight::jinja {
namespace {

Value strip_side(const Call& call, Side side) {
  call.budget().spend(call.self.text().size());
  return call.runtime.text(stripped_by(call, call.self.text(), side));
}
Value strip(const Call& call) { return strip_side(call, Side::both); }
Value lstrip(const Call& call) { return strip_side(call, Side::left); }
Value rstrip(const Call& call) { return strip_side(call, Side::right); }

template <std::string (*kChange)(std::string_view)>
Value change_case(const Call& call) {
  call.budget().spend(call.self.text().size());
  return call.runtime.text(kChange(call.self.text()));
}

// True if the text has characters and all satisfy `is`.
template <bool (*kIs)(char32_t)>
Value all_are(const Call& call) {
  const std::string& text = call.self.text();
  call.budget().spend(text.size());
  const bool are_all = stripped_of(text, Side::left, kIs).empty();
  return Value(!text.empty() && are_all);
}

// Tests an end of the text, for one text or a tuple of texts.
template <class Test>
Value has_end(const Call& call, const Test& test) {
  call.budget().spend(call.self.text().size());
  if (call.value(0).is_text()) {
    return Value(test(std::string_view(call.self.text()), call.text(0)));
  }
  const Values& all = call.value(0).list().values;
  return Value(std::any_of(all.begin(), all.end(), [&](const Value& one) {
    call.budget().step();
    return test(std::string_view(call.self.text()), one.text());
  }));
}
Value starts_with(const Call& call) {
  return has_end(
      call, [](std::string_view text, const std::string& part) { return text.starts_with(part); });
}
Value ends_with(const Call& call) {
  return has_end(
      call, [](std::string_view text, const std::string& part) { return text.ends_with(part); });
}

// Splits at white space, at most `most` times from the left or right.
Values split_words(const Call& call, std::int64_t most, Side side) {
  Values words;
  const auto is_inside = [](char32_t code) { return !is_space(code); };
  std::string_view rest = stripped(call.self.text(), side);
  for (; !rest.empty() && most != 0; --most) {
    const std::string_view after = stripped_of(rest, side, is_inside);
    const std::size_t size = rest.size() - after.size();
    words.push_back(call.runtime.text(
        std::string(side == Side::left ? rest.substr(0, size) : rest.substr(after.size()))));
    rest = stripped(after, side);
  }
  if (!rest.empty()) {
    words.push_back(call.runtime.text(std::string(rest)));
  }
  return words;
}

Values split_at_text(const Call& call, std::string_view separator, std::int64_t most, Side side) {
  require(!separator.empty(), "a text cannot be split at an empty text");
  const std::string_view text = call.self.text();
  std::vector<std::size_t> positions;
  for (std::size_t from = 0, at = 0;
       (at = find_text(call.budget(), text, separator, from)) != std::string::npos;
       from = at + separator.size()) {
    call.budget().step();
    positions.push_back(at);
  }
  const std::size_t count =
      most < 0 ? positions.size() : std::min(positions.size(), static_cast<std::size_t>(most));
  positions = side == Side::left
                  ? std::vector<std::size_t>(positions.begin(),
                                             positions.begin() + static_cast<std::ptrdiff_t>(count))
                  : std::vector<std::size_t>(positions.end() - static_cast<std::ptrdiff_t>(count),
                                             positions.end());
  Values parts;
  std::size_t start = 0;
  for (const std::size_t position : positions) {
    parts.push_back(call.runtime.text(std::string(text.substr(start, position - start))));
    start = position + separator.size();
  }
  parts.push_back(call.runtime.text(std::string(text.substr(start))));
  return parts;
}

Value split_from(const Call& call, Side side) {
  call.budget().spend(call.self.text().size());
  const std::int64_t most = call.whole_or(1, -1);
  if (!call.given(0) || call.value(0).is_none()) {
    Values words = split_words(call, most, side);
    if (side == Side::right) {
      std::reverse(words.begin(), words.end());
    }
    return call.runtime.list(std::move(words));
  }
  return call.runtime.list(split_at_text(call, call.text(0), most, side));
}
Value split(const Call& call) { return split_from(call, Side::left); }
Value rsplit(const Call& call) { return split_from(call, Side::right); }

Value split_lines(const Call& call) {
  Values lines;
  std::string_view rest = call.self.text();
  call.budget().spend(rest.size());
  const auto is_inside = [](char32_t code) {
    return !((code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
             code == 0x2028 || code == 0x2029);
  };
  while (!rest.empty()) {
    const std::string_view after = stripped_of(rest, Side::left, is_inside);
    const std::size_t size = rest.size() - after.size();
    const std::size_t end = after.empty() ? 0
                            : after.starts_with("\r\n")
                                ? 2
                                : static_cast<std::size_t>(first_character(after).length);
    lines.push_back(
        call.runtime.text(std::string(rest.substr(0, size + (call.flag_or(0, false) ? end : 0)))));
    rest = after.substr(end);
  }
  return call.runtime.list(std::move(lines));
}

Value replace(const Call& call) {
  return call.runtime.text(
      replaced(call.budget(), call.self.text(), call.text(0), call.text(1), call.whole_or(2, -1)));
}

Value join(const Call& call) {
  std::string text;
  bool is_first = true;
  for (const Value& part : elements(call.budget(), call.value(0).defined())) {
    text += is_first ? "" : call.self.text();
    text += part.text();
    call.budget().spend(call.self.text().size() + part.text().size());
    is_first = false;
  }
  return call.runtime.text(std::move(text));
}

// Returns a position in characters, or -1.
std::int64_t in_characters(const Call& call, std::size_t position) {
  return position == std::string::npos
             ? -1
             : std::int64_t{
                   character_count(std::string_view(call.self.text()).substr(0, position))};
}
std::int64_t position_of(const Call& call) {
  return in_characters(call, find_text(call.budget(), call.self.text(), call.text(0)));
}
Value find(const Call& call) { return Value(position_of(call)); }
Value find_last(const Call& call) {
  std::size_t last = std::string::npos;
  for (std::size_t at = 0;
       (at = find_text(call.budget(), call.self.text(), call.text(0), at)) != std::string::npos;
       ++at) {
    last = at;
  }
  return Value(in_characters(call, last));
}
Value index(const Call& call) {
  const std::int64_t position = position_of(call);
  require(position >= 0, "index: the text does not contain its argument");
  return Value(position);
}

Value count(const Call& call) {
  const std::size_t size = call.text(0).size();
  require(size > 0, "count: expected a text that is not empty");
  std::int64_t found = 0;
  for (std::size_t at = 0;
       (at = find_text(call.budget(), call.self.text(), call.text(0), at)) != std::string::npos;
       at += size) {
    ++found;
  }
  return Value(found);
}

Value remove_prefix(const Call& call) {
  const bool has_it = call.self.text().starts_with(call.text(0));
  return call.runtime.text(call.self.text().substr(has_it ? call.text(0).size() : 0));
}
Value remove_suffix(const Call& call) {
  const std::string& text = call.self.text();
  const bool has_it = text.ends_with(call.text(0));
  return call.runtime.text(text.substr(0, text.size() - (has_it ? call.text(0).size() : 0)));
}

Value format(const Call& call) {
  return call.runtime.text(brace_format(call.runtime, call.self.text(), call.all));
}

template <bool (*kIs)(std::string_view)>
Value has_case(const Call& call) {
  call.budget().spend(call.self.text().size());
  return Value(kIs(call.self.text()));
}

}  // namespace

std::span<const Function> text_methods() {
  static constexpr Function kMethods[] = {
      {"strip", "chars", 0, strip},
      {"lstrip", "chars", 0, lstrip},
      {"rstrip", "chars", 0, rstrip},
      {"split", "sep maxsplit", 0, split},
      {"rsplit", "sep maxsplit", 0, rsplit},
      {"splitlines", "keepends", 0, split_lines},
      {"startswith", "prefix", 1, starts_with},
      {"endswith", "suffix", 1, ends_with},
      {"replace", "old new count", 2, replace},
      {"join", "iterable", 1, join},
      {"format", "*", 0, format},
      {"upper", "", 0, change_case<upper_text>},
      {"lower", "", 0, change_case<lower_text>},
      {"title", "", 0, change_case<title_text>},
      {"capitalize", "", 0, change_case<capitalized_text>},
      {"find", "sub", 1, find},
      {"rfind", "sub", 1, find_last},
      {"index", "sub", 1, index},
      {"count", "sub", 1, count},
      {"removeprefix", "prefix", 1, remove_prefix},
      {"removesuffix", "suffix", 1, remove_suffix},
      {"islower", "", 0, has_case<is_lower_text>},
      {"isupper", "", 0, has_case<is_upper_text>},
      {"isspace", "", 0, all_are<is_space>},
      {"isdigit", "", 0, all_are<is_number_character>},
      {"isalpha", "", 0, all_are<is_letter>},
      {"isalnum", "", 0, all_are<is_letter_or_number>},
  };
  return kMethods;
}

}  // namespace headlight::jinja
