#include "views/attention/attention_view.h"

#include <array>
#include <set>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Weights computed in float32 or stored as bfloat16 may exceed 1 by rounding.
constexpr float kLargestWeight = 1.01F;

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kNonJoiner = 0x200C;
constexpr char32_t kJoiner = 0x200D;

// Characters that draw nothing but change how their neighbours are laid out.
bool is_invisible_format(char32_t c) {
  return c == 0x00AD || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xE0000 && c <= 0xE007F);
}

bool is_noncharacter(char32_t c) { return (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF); }

char32_t printable(char32_t c) {
  if (c < 0x20 && c != '\n' && c != '\t') {
    return 0x2400 + c;
  }
  if (c == 0x7F) {
    return 0x2421;
  }
  return (c >= 0x80 && c < 0xA0) || is_noncharacter(c) ? kReplacement : c;
}

// Bytes that are no character become U+FFFD.
std::u32string code_points(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    points += character.code_point;
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return points;
}

// "U+202E".
std::string code_point_name(char32_t c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name = "U+";
  for (int shift = c > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) {
    name += kDigits[(c >> shift) & 0xF];
  }
  return name;
}

// East Asian scripts and pictographs fill a square; combining marks are ignored because tokens
// rarely hold many.
double character_width(char32_t c) {
  const bool wide = (c >= 0x1100 && c <= 0x11FF) || (c >= 0x2E80 && c <= 0xD7FF) ||
                    (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) ||
                    (c >= 0xFF00 && c <= 0xFF60) || c >= 0x1F000;
  constexpr std::u32string_view kNarrow = U"il.,:;'|!·() ";
  return wide ? 1.0 : kNarrow.find(c) != std::u32string_view::npos ? 0.36 : 0.62;
}

}  // namespace

LayerWeights::LayerWeights(std::string_view where, const AttentionMaps& maps,
                           const LayerAttention& layer)
    : heads_(static_cast<Index>(layer.heads.size())),
      tokens_(static_cast<Index>(maps.tokens.size())) {
  require(tokens_ > 0, "[", where, "] expected at least one token, got none");
  require(heads_ > 0, "[", where, "] expected at least one head in layer ", layer.layer,
          ", got none");
  require(layer.layer >= 0, "[", where, "] expected a layer number from 0, got ", layer.layer);
  const std::set<Index> distinct(layer.heads.begin(), layer.heads.end());
  require(static_cast<Index>(distinct.size()) == heads_ && *distinct.begin() >= 0, "[", where,
          "] the heads of layer ", layer.layer, " must be different numbers from 0");
  require(layer.weights.defined(), "[", where, "] layer ", layer.layer, " has no weights");
  const Shape expected = {heads_, tokens_, tokens_};
  require(layer.weights.shape() == expected && layer.weights.dtype() == DType::float32, "[", where,
          "] weights of layer ", layer.layer, ": expected float32 ", expected, ", got ",
          layer.weights.dtype(), " ", layer.weights.shape());
  weights_ = to_contiguous(layer.weights);
  check_values(where, layer);
}

const float* LayerWeights::head(Index head) const {
  return weights_.data<float>() + head * tokens_ * tokens_;
}

void LayerWeights::check_values(std::string_view where, const LayerAttention& layer) {
  for (Index h = 0; h < heads_; ++h) {
    const float* value = head(h);
    for (Index query = 0; query < tokens_; ++query) {
      for (Index key = 0; key < tokens_; ++key, ++value) {
        // Written so that NaN fails.
        require(*value >= 0.0F && *value <= kLargestWeight, "[", where, "] weight of head ",
                layer.layer, ".", layer.heads[static_cast<std::size_t>(h)], " from query ", query,
                " to key ", key, ": expected a number in [0, 1], got ", *value);
        causal_ = causal_ && (key <= query || *value == 0.0F);
      }
    }
  }
}

std::string printable_text(std::string_view text) {
  std::string out;
  for (const char32_t c : code_points(text)) {
    append_utf8(printable(c), out);
  }
  return out;
}

std::string token_text(std::string_view token) {
  const std::u32string points = code_points(token);
  std::string out;
  for (const char32_t c : points) {
    const bool joins = (c == kNonJoiner || c == kJoiner) && points.size() > 1;
    if (is_invisible_format(c) && !joins) {
      out += code_point_name(c);
    } else {
      append_utf8(printable(c), out);
    }
  }
  return out;
}

std::string token_label(std::string_view token) {
  std::string out;
  for (const char32_t c : code_points(token_text(token))) {
    const bool blank = c == ' ' || c == 0x00A0 || c == 0x3000;
    append_utf8(blank ? U'·' : c == '\n' ? U'⏎' : c == '\t' ? U'⇥' : c, out);
  }
  return out.empty() ? "∅" : out;
}

std::string score_label(const HeadScore& score) {
  return printable_text(score.name) + (score.settled ? "" : " ?");
}

std::string escape_markup(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr std::array<std::string_view, 5> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;",
                                                         "&#39;"};
  std::string out;
  for (const char c : text) {
    const std::size_t entity = kSpecial.find(c);
    if (entity == std::string_view::npos) {
      out += c;
    } else {
      out += kEntities[entity];
    }
  }
  return out;
}

double text_width(std::string_view text) {
  double width = 0.0;
  for (const char32_t c : code_points(text)) {
    width += character_width(c);
  }
  return width;
}

std::string shorten_text(std::string_view text, double width) {
  if (text_width(text) <= width) {
    return std::string(text);
  }
  std::string out;
  double used = character_width(U'…');
  for (const char32_t c : code_points(text)) {
    used += character_width(c);
    if (used > width) {
      break;
    }
    append_utf8(c, out);
  }
  return out + "…";
}

}  // namespace headlight
