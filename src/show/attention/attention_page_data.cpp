#include "show/attention/attention_page_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json.h"
#include "base/strings/base64.h"
#include "base/strings/display_text.h"
#include "base/transformed.h"
#include "show/attention/layer_weights.h"
#include "show/html/filled_page.h"
#include "show/plot/colour_scale.h"

namespace headlight {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr Index kLargestData = Index{128} << 20;  // characters that browsers parse without trouble
constexpr double kLargestInteger = 65535.0;       // 16-bit code of weight 1
constexpr double kLargestRoot = 255.0;            // 8-bit code of weight 1
constexpr double kLargestSigned = 32767.0;        // code of the largest absolute value of a head
constexpr int kPaletteColours = 256;

struct CheckedDocument {
  const AttentionMaps* maps;
  std::vector<LayerWeights> layers;
  bool causal = true;
};

void check_vectors(const LayerAttention& layer, Index tokens) {
  if (!layer.queries.defined() && !layer.keys.defined()) {
    return;
  }
  for (const Tensor& vectors : {layer.queries, layer.keys}) {
    const bool fits = vectors.defined() && vectors.dtype() == DType::float32 &&
                      vectors.rank() == 3 && vectors.size(2) > 0 &&
                      vectors.size(0) == static_cast<Index>(layer.heads.size()) &&
                      vectors.size(1) == tokens && vectors.shape() == layer.queries.shape();
    require(fits, "[attention_html] queries and keys of layer ", layer.layer,
            ": expected both float32 [", layer.heads.size(), ", ", tokens, ", D]");
    const Tensor values = to_contiguous(vectors);
    const float* first = values.data<float>();
    require(std::all_of(first, first + values.numel(), [](float v) { return std::isfinite(v); }),
            "[attention_html] queries and keys of layer ", layer.layer,
            " contain values that are not finite");
  }
}

CheckedDocument checked_document(const AttentionMaps& maps) {
  require(!maps.layers.empty(), "[attention_html] expected at least one layer, got none");
  CheckedDocument document{&maps, {}, true};
  std::set<Index> numbers;
  for (const LayerAttention& layer : maps.layers) {
    require(numbers.insert(layer.layer).second, "[attention_html] layer ", layer.layer,
            " comes twice");
    document.layers.emplace_back("attention_html", maps, layer);
    document.causal = document.causal && document.layers.back().is_causal();
    check_vectors(layer, document.layers.back().tokens());
  }
  return document;
}

Index base64_characters(Index bytes) { return (bytes + 2) / 3 * 4; }

// Returns true if the page must store weights in 8 bits. Throws Error if even those are too large.
bool is_coarse(const std::vector<CheckedDocument>& documents, const AttentionPageOptions& options) {
  Index all_heads = 0;
  Index longest = 0;
  Index exact = 0;    // base64 characters of all weights in 16 bits
  Index rounded = 0;  // in 8 bits
  Index vectors = 0;  // of all queries and keys
  for (const CheckedDocument& document : documents) {
    const Index tokens = document.layers.front().tokens();
    const Index stored = document.causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
    longest = std::max(longest, tokens);
    for (const LayerAttention& layer : document.maps->layers) {
      const Index heads = std::ssize(layer.heads);
      all_heads += heads;
      exact += heads * base64_characters(2 * stored);
      rounded += heads * base64_characters(stored);
      if (layer.queries.defined()) {
        vectors += 2 * heads * base64_characters(2 * tokens * layer.queries.size(2));
      }
    }
  }
  const bool coarse = exact > options.exact_characters;
  const Index characters = (coarse ? rounded : exact) + vectors;
  require(characters <= kLargestData, "[attention_html] ", all_heads, " heads over ", longest,
          " tokens: expected at most ", kLargestData >> 20, " MiB of ",
          vectors > 0 ? "weights, queries and keys" : "weights", " in the page, got ",
          characters >> 20);
  return coarse;
}

void append_16_bits(Bytes& bytes, long value) {
  const auto integer = static_cast<std::uint32_t>(value);
  bytes.push_back(static_cast<std::uint8_t>(integer & 0xFF));
  bytes.push_back(static_cast<std::uint8_t>(integer >> 8 & 0xFF));
}

// Returns the bytes of the weights [T, T], row by row, before base64 encoding. With `causal`, rows
// end at the diagonal. A weight takes 2 bytes, little-endian. With `coarse` it takes 1 byte, which
// stores its square root: steps of 1/255 would round the small weights of long rows to 0.
Bytes quantised(const float* weights, Index tokens, bool causal, bool coarse) {
  Bytes bytes;
  for (Index query = 0; query < tokens; ++query) {
    for (Index key = 0; key < (causal ? query + 1 : tokens); ++key) {
      const double weight = std::min(1.0, static_cast<double>(weights[query * tokens + key]));
      if (coarse) {
        bytes.push_back(static_cast<std::uint8_t>(std::lround(std::sqrt(weight) * kLargestRoot)));
      } else {
        append_16_bits(bytes, std::lround(weight * kLargestInteger));
      }
    }
  }
  return bytes;
}

// Returns {"scale": s, "code": base64}: the vectors [T, D] of one head as s times int16.
std::string embedded_vectors(const Tensor& vectors, Index head) {
  const Index count = vectors.size(1) * vectors.size(2);
  const float* values = vectors.data<float>() + head * count;
  float largest = 0.0F;
  for (Index i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
  }
  const double scale = largest > 0.0F ? static_cast<double>(largest) / kLargestSigned : 1.0;
  Bytes bytes;
  for (Index i = 0; i < count; ++i) {
    append_16_bits(bytes, std::lround(static_cast<double>(values[i]) / scale));
  }
  std::string out = "{\"scale\":" + Json(scale).dump() + ",\"code\":\"";
  out += base64_of(std::as_bytes(std::span(bytes)));
  return out + "\"}";
}

Json palette(Background ground, ColourMap map) {
  std::string colours;
  std::string white_text;
  for (int i = 0; i < kPaletteColours; ++i) {
    const Colour colour = map_colour(static_cast<double>(i) / (kPaletteColours - 1), ground, map);
    colours += hex_digits(colour);
    white_text += needs_white_text(colour) ? '1' : '0';
  }
  return {{"colours", colours}, {"white_text", white_text}};
}

std::string embedded_layer(const CheckedDocument& document, std::size_t l, bool coarse) {
  const LayerAttention& layer = document.maps->layers[l];
  const LayerWeights& weights = document.layers[l];
  std::string out = concat_text("{\"layer\":", layer.layer, ",\"heads\":") +
                    Json(layer.heads).dump() + ",\"weights\":[";
  for (Index h = 0; h < weights.heads(); ++h) {
    out += h == 0 ? "\n\"" : ",\n\"";
    const Bytes bytes = quantised(weights.head(h), weights.tokens(), document.causal, coarse);
    out += base64_of(std::as_bytes(std::span(bytes)));
    out += '"';
  }
  out += "]";
  if (layer.queries.defined()) {
    const Tensor queries = to_contiguous(layer.queries);
    const Tensor keys = to_contiguous(layer.keys);
    out += concat_text(
        ",\n\"width\":", queries.size(2), ",\"scale\":",
        layer.scale > 0 ? layer.scale : 1 / std::sqrt(static_cast<double>(queries.size(2))),
        ",\"cap\":", layer.cap, ",\"window\":", layer.window, ",\"vectors\":[");
    for (Index h = 0; h < weights.heads(); ++h) {
      out += std::string(h == 0 ? "\n" : ",\n") + "{\"queries\":" + embedded_vectors(queries, h) +
             ",\"keys\":" + embedded_vectors(keys, h) + "}";
    }
    out += "]";
  }
  return out + "}";
}

std::string embedded_document(const CheckedDocument& document, bool coarse, Language language,
                              const std::function<void()>& pause) {
  const AttentionMaps& maps = *document.maps;
  Json scores = Json::object();
  for (const auto& [id, score] : maps.scores) {
    scores[head_name(id)] = {score_label(score, language), score.score};
  }
  std::string out = "{\"title\":" + embedded_json(printable_text(maps.title));
  out += ",\n\"tokens\":" + embedded_json(transformed(maps.tokens, token_text));
  out += ",\n\"labels\":" + embedded_json(cell_labels(maps));
  out += ",\n\"unit\":" + embedded_json(name_of(maps.unit));
  out += ",\n\"scores\":" + embedded_json(scores);
  out += ",\n\"causal\":" + std::string(document.causal ? "true" : "false") + ",\n\"layers\":[\n";
  for (std::size_t l = 0; l < document.layers.size(); ++l) {
    out += (l == 0 ? "" : ",\n") + embedded_layer(document, l, coarse);
    pause();
  }
  return out + "]}";
}

}  // namespace

std::string attention_page_data(const std::vector<AttentionMaps>& documents,
                                const AttentionPageOptions& options,
                                const std::function<void()>& pause) {
  require(!documents.empty(), "[attention_html] expected at least one document, got none");
  const auto count = static_cast<Index>(documents.size());
  require(options.beside >= -1 && options.beside < count, "[attention_html] beside: expected a ",
          "document from 0 to ", count - 1, " or -1 for none, got ", options.beside);
  const std::vector<CheckedDocument> checked = transformed(documents, checked_document);
  const bool coarse = is_coarse(checked, options);
  std::string out = "{\n\"bits\":" + std::string(coarse ? "8" : "16");
  out += ",\n\"view\":\"" + std::string(name_of(options.view)) + "\"";
  out += concat_text(",\n\"beside\":", options.beside);
  out += concat_text(",\n\"linear_tokens\":", kLinearScaleTokens,
                     ",\n\"value_weighted\":", documents.front().value_weighted ? "true" : "false");
  const AttentionStyle& style = options.style;
  out += concat_text(",\n\"decimals\":", style.numbers.decimals,
                     ",\n\"percent\":", style.numbers.percent ? "true" : "false");
  out += ",\n\"light\":" + palette(Background::light, style.colours).dump();
  out += ",\n\"dark\":" + palette(Background::dark, style.colours).dump();
  out += ",\n\"documents\":[\n";
  for (std::size_t d = 0; d < checked.size(); ++d) {
    out += (d == 0 ? "" : ",\n") + embedded_document(checked[d], coarse, style.language, pause);
  }
  return out + "]}";
}

}  // namespace headlight
