#include "serve/story_address.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <regex>

#include "base/printable.h"
#include "base/read_number.h"
#include "base/split.h"
#include "headlight/base/choices.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight::serve {
namespace {

constexpr std::array<std::string_view, 8> kStoryTexts{"text",  "system",  "chat_changes", "frozen",
                                                      "clean", "corrupt", "answer",       "wrong"};
constexpr std::array<std::string_view, 8> kStoryNumbers{
    "temperature",        "top_k",      "top_p",         "min_p",
    "repetition_penalty", "max_tokens", "answer_tokens", "seed"};
constexpr std::array<std::string_view, 5> kCarriedParts{"head", "resid_post", "mlp_out", "attn_out",
                                                        "position"};
constexpr std::array<std::string_view, 2> kStoryLanguages{"en", "ko"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns a value of a query without percent codes.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    require(error == std::errc{} && end == digits.data() + 2,
            "expected two hexadecimal digits after %, got ", in_quotes(text.substr(i, 3)),
            "; a percent sign is %25");
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0 ||
        std::string_view("-._~:,>").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

void require_layer(const std::string& layer, const StoryScope& scope) {
  const auto number = read_number<Index>(layer);
  require(number && *number < scope.layers, "expected a layer from 0 to ", scope.layers - 1,
          ", got ", layer);
}

// Checks a head such as "1.3".
void require_head(const std::string& name, const StoryScope& scope) {
  const std::size_t dot = name.find('.');
  require_layer(name.substr(0, dot), scope);
  const auto head = read_number<Index>(name.substr(dot + 1));
  require(head && *head < scope.heads, "expected a head from ", name.substr(0, dot), ".0 to ",
          name.substr(0, dot), ".", scope.heads - 1, ", got ", name);
}

// Checks a part: group 1 of `match` is a head, or group 2 a layer.
void require_part(const std::smatch& match, const StoryScope& scope) {
  if (match[1].matched) {
    require_head(match[1], scope);
  } else {
    require_layer(match[2], scope);
  }
}

void check_changes(const std::string& changes, const StoryScope& scope) {
  static const std::regex kChange(
      R"((?:(\d{1,9}\.\d{1,9})|(?:mlp|layer)\.(\d{1,9})):(?:off|mean|freeze|scale(?:\d+\.?\d*)?))");
  for (const std::string& change : split_at_commas(changes)) {
    std::smatch match;
    require(std::regex_match(change, match, kChange),
            "changes: expected changes such as 0.3:off,mlp.1:scale0.5, got ", in_quotes(change));
    require_part(match, scope);
  }
}

void check_carry(const std::string& carry, const StoryScope& scope) {
  static const std::regex kCarry(
      R"((?:(\d{1,9}\.\d{1,9})|(?:resid_post|mlp_out|attn_out)\.(\d{1,9}))(?::\d+>\d+)?)");
  std::smatch match;
  require(std::regex_match(carry, match, kCarry),
          "carry: expected a part and tokens such as 0.3:5>5, got ", in_quotes(carry));
  require_part(match, scope);
}

void check_entry(const std::string& name, const std::string& value, const StoryScope& scope) {
  if (name == "part") {
    const std::vector<std::string_view> views(scope.views.begin(), scope.views.end());
    if (!is_one_of(views, value)) {
      fail_choice(name, views, value);
    }
  } else if (name == "changes") {
    check_changes(value, scope);
  } else if (name == "carry") {
    check_carry(value, scope);
  } else if (name == "carried" || name == "lang") {
    const std::span<const std::string_view> names =
        name == "lang" ? std::span<const std::string_view>(kStoryLanguages) : kCarriedParts;
    if (!is_one_of(names, value)) {
      fail_choice(name, names, value);
    }
  } else if (is_one_of(kStoryNumbers, name)) {
    require(read_number<double>(value).has_value(), name, ": expected a number, got ",
            in_quotes(value));
  } else {
    require(is_one_of(kStoryTexts, name),
            "expected an entry of the page's address (part, text, "
            "changes ...), got ",
            in_quotes(name));
  }
}

void check_fragment(const std::string& fragment, const StoryScope& scope) {
  static const std::regex kFragment(
      R"(#(?:model|head|neuron|grid)(?:/(\d{1,9}\.\d{1,9})(?:/\d{1,9}(?:/receives)?)?)?(?:&(?:doc|beside)=-?\d)*)");
  std::smatch match;
  require(std::regex_match(fragment, match, kFragment),
          "expected #model, #head, #neuron or #grid with a head and a token, such as "
          "#grid/0.3/13, got ",
          in_quotes(fragment));
  if (match[1].matched) {
    require_head(match[1], scope);
  }
}

}  // namespace

StoryAddress read_story_address(std::string_view text, const StoryScope& scope) {
  StoryAddress address;
  const std::size_t hash = std::min(text.find('#'), text.size());
  address.fragment = text.substr(hash);
  std::string_view rest = text.substr(1, hash - 1);
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const std::size_t equals = entry.find('=');
    require(equals != entry.npos, "expected name=value, got ", in_quotes(entry),
            "; an ampersand in a text is %26");
    const std::string name(entry.substr(0, equals));
    const std::string value = decoded(entry.substr(equals + 1));
    require_utf8(value, name);
    check_entry(name, value, scope);
    require(address.entries.emplace(name, value).second, name, ": given twice");
  }
  if (!address.fragment.empty()) {
    check_fragment(address.fragment, scope);
  }
  return address;
}

std::string address_text(const StoryAddress& address) {
  std::string query;
  for (const auto& [name, value] : address.entries) {
    query += concat_text(query.empty() ? "?" : "&", name, "=", encoded(value));
  }
  return query + address.fragment;
}

}  // namespace headlight::serve
