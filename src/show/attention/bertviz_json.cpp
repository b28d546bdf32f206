#include "headlight/show/attention/bertviz_json.h"

#include <array>
#include <charconv>
#include <numeric>

#include "base/json.h"
#include "base/strings/display_text.h"
#include "base/transformed.h"
#include "show/attention/layer_weights.h"

namespace headlight {
namespace {

void require_regular(const std::vector<AttentionMaps>& documents) {
  require(!documents.empty(), "[bertviz_json] expected at least one document, got none");
  const std::vector<LayerAttention>& first = documents.front().layers;
  require(!first.empty(), "[bertviz_json] expected at least one layer, got none");
  for (const AttentionMaps& maps : documents) {
    require(maps.layers.size() == first.size(),
            "[bertviz_json] expected the same layers in every document");
    for (std::size_t l = 0; l < first.size(); ++l) {
      require(maps.layers[l].layer == first[l].layer,
              "[bertviz_json] expected the same layers in every document");
      require(maps.layers[l].heads == first.front().heads, "[bertviz_json] layer ",
              maps.layers[l].layer, " holds other heads than layer ", first.front().layer,
              ": BertViz needs the same heads of every layer");
    }
  }
}

void append_number(std::string& out, float value) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  out.append(text.data(), end.ptr);
}

// Appends the weights [T, T] of one head as [[...], ...].
void append_matrix(std::string& out, const float* weights, Index tokens) {
  for (Index query = 0; query < tokens; ++query) {
    out += query == 0 ? "[[" : ",\n[";
    for (Index key = 0; key < tokens; ++key) {
      out += key == 0 ? "" : ",";
      append_number(out, weights[query * tokens + key]);
    }
    out += "]";
  }
  out += "]";
}

void append_document(std::string& out, const AttentionMaps& maps, const std::string& name) {
  out += "{\"name\":" + Json(name).dump() + ",\n\"attn\":[";
  for (std::size_t l = 0; l < maps.layers.size(); ++l) {
    const LayerWeights weights("bertviz_json", maps, maps.layers[l]);
    out += l == 0 ? "[" : ",\n[";
    for (Index h = 0; h < weights.heads(); ++h) {
      out += h == 0 ? "" : ",\n";
      append_matrix(out, weights.head(h), weights.tokens());
    }
    out += "]";
  }
  const std::string text = Json(transformed(maps.tokens, token_text)).dump();
  out += "],\n\"left_text\":" + text + ",\n\"right_text\":" + text + "}";
}

}  // namespace

std::string bertviz_json(const std::vector<AttentionMaps>& documents) {
  require_regular(documents);
  std::string out = "{\"attention\":[\n";
  for (std::size_t d = 0; d < documents.size(); ++d) {
    const std::string title = printable_text(documents[d].title);
    const std::string number = "document " + std::to_string(d);
    out += d == 0 ? "" : ",\n";
    append_document(out, documents[d], title.empty() ? number : title + ", " + number);
  }
  const std::vector<LayerAttention>& layers = documents.front().layers;
  std::vector<std::size_t> rows(layers.front().heads.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const Json rest = {{"default_filter", "0"},
                     {"layer", layers.front().layer},
                     {"heads", rows},
                     {"include_layers", transformed(layers, &LayerAttention::layer)},
                     {"include_heads", layers.front().heads}};
  return out + "],\n" + rest.dump().substr(1) + "\n";
}

}  // namespace headlight
