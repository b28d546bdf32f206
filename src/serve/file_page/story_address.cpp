#include "serve/file_page/story_address.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/strings/hex_text.h"
#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "base/strings/split.h"
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
    const std::optional<char> byte = hex_byte(text.substr(i + 1, 2));
    require(byte.has_value(), "expected two hexadecimal digits after %, got ",
            in_quotes(text.substr(i, 3)), "; a percent sign is %25");
    out += *byte;
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

// Returns whether a text is digits, then `between`, then digits.
bool is_pair(std::string_view text, char between) {
  const std::size_t position = text.find(between);
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  };
  return position != text.npos && is_number(text.substr(0, position)) &&
         is_number(text.substr(position + 1));
}

// Checks a part of the model: a head, or one of `kinds` with a layer, such as "mlp.1". Returns
// false for another form.
bool is_part(std::string_view text, std::span<const std::string_view> kinds,
             const StoryScope& scope) {
  const std::size_t dot = text.find('.');
  if (is_pair(text, '.')) {
    require_head(std::string(text), scope);
  } else if (dot != text.npos && is_one_of(kinds, text.substr(0, dot)) &&
             is_pair(concat_text("0", text.substr(dot)), '.')) {
    require_layer(std::string(text.substr(dot + 1)), scope);
  } else {
    return false;
  }
  return true;
}

bool is_effect(std::string_view effect) {
  constexpr std::array<std::string_view, 4> kPlain{"off", "mean", "freeze", "scale"};
  constexpr std::string_view kScale = "scale";
  const std::string_view factor = effect.substr(std::min(kScale.size(), effect.size()));
  const bool is_whole = factor.find('.') == factor.npos;
  return is_one_of(kPlain, effect) ||
         (effect.starts_with(kScale) && is_pair(concat_text(factor, is_whole ? ".0" : "0"), '.'));
}

void check_changes(const std::string& changes, const StoryScope& scope) {
  constexpr std::array<std::string_view, 2> kKinds{"mlp", "layer"};
  for (const std::string& change : split_at_commas(changes)) {
    const std::size_t colon = std::min(change.find(':'), change.size());
    const std::string_view text = change;
    const bool is_change = colon < change.size() && is_effect(text.substr(colon + 1)) &&
                           is_part(text.substr(0, colon), kKinds, scope);
    require(is_change, "changes: expected changes such as 0.3:off,mlp.1:scale0.5, got ",
            in_quotes(change));
  }
}

void check_carry(std::string_view carry, const StoryScope& scope) {
  constexpr std::array<std::string_view, 3> kKinds{"resid_post", "mlp_out", "attn_out"};
  const std::size_t colon = std::min(carry.find(':'), carry.size());
  const bool has_tokens = colon < carry.size();
  require((!has_tokens || is_pair(carry.substr(colon + 1), '>')) &&
              is_part(carry.substr(0, colon), kKinds, scope),
          "carry: expected a part and tokens such as 0.3:5>5, got ", in_quotes(carry));
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

// Checks "#VIEW/HEAD/TOKEN/receives&doc=0&beside=-1", of which all but the view may be missing.
void check_fragment(std::string_view fragment, const StoryScope& scope) {
  constexpr std::array<std::string_view, 4> kGraphViews{"#model", "#head", "#neuron", "#grid"};
  const std::vector<std::string> parts = split_at('&', fragment);
  const std::vector<std::string> segments = split_at('/', parts.front());
  const auto is_option = [](std::string_view part) {
    for (const std::string_view name : {"doc=", "beside="}) {
      if (part.starts_with(name)) {
        part.remove_prefix(name.size());
        part.remove_prefix(part.starts_with('-') ? 1 : 0);
        return part.size() == 1 && read_number<int>(part).has_value();
      }
    }
    return false;
  };
  const bool fits = is_one_of(kGraphViews, segments[0]) && segments.size() <= 4 &&
                    (segments.size() < 2 || is_pair(segments[1], '.')) &&
                    (segments.size() < 3 || is_pair(concat_text("0.", segments[2]), '.')) &&
                    (segments.size() < 4 || segments[3] == "receives") &&
                    std::all_of(parts.begin() + 1, parts.end(), is_option);
  require(fits, "expected #model, #head, #neuron or #grid with a head and a token, such as ",
          "#grid/0.3/13, got ", in_quotes(fragment));
  if (segments.size() >= 2) {
    require_head(segments[1], scope);
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
