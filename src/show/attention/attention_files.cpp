#include "show/attention/attention_files.h"

#include "base/json.h"
#include "base/share.h"
#include "base/transformed.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/kernels/threads/parallel.h"
#include "headlight/nn/batch.h"
#include "headlight/show/attention/attention_svg.h"
#include "headlight/show/attention/bertviz_json.h"
#include "show/png/png.h"

namespace headlight {
namespace {

// Contents of tokens.json: ids, labels and text of each document, and the recorded heads by layer.
std::string attention_tokens_json(const RecordedAttention& recorded) {
  Json json;
  for (const RecordedDocument& document : recorded.documents) {
    Json entry{{"ids", document.ids}, {"tokens", document.labels()}, {"text", document.text}};
    if (recorded.unit != TextUnit::token) {
      entry["begins"] = transformed(document.cells, &TokenCell::begin);
    }
    json["documents"].push_back(std::move(entry));
  }
  json["unit"] = name_of(recorded.unit);
  for (const RecordedLayer& layer : recorded.layers) {
    json["layers"].push_back({{"layer", layer.layer}, {"heads", layer.heads}});
  }
  return json.dump(1) + "\n";
}

// Adds the figures of all layers, and draws as many at once as there are threads.
void add_layer_figures(const AttentionMaps& maps, const AttentionStyle& style,
                       const AttentionFilesOptions& options,
                       std::vector<std::pair<std::string, std::string>>& files) {
  const Index layers = std::ssize(maps.layers);
  const Index threads = thread_count();
  std::vector<std::string> figures(maps.layers.size());
  for (Index first = 0; first < layers; first += threads) {
    const Index last = std::min(first + threads, layers);
    parallel_for(last - first, 1, [&](Index begin, Index end) {
      for (Index i = first + begin; i < first + end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        figures[at] = attention_svg(maps, maps.layers[at], style);
      }
    });
    options.progress(share_of(last, layers));
  }
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const std::string name = concat_text("layer_", maps.layers[i].layer);
    const std::string pixels = options.formats.contains("png") ? svg_to_png(figures[i]) : "";
    if (options.formats.contains("svg")) {
      files.emplace_back(name + ".svg", std::move(figures[i]));
    }
    if (options.formats.contains("png")) {
      files.emplace_back(name + ".png", pixels);
    }
  }
}

}  // namespace

ResultArrays attention_arrays(const RecordedAttention& recorded, const Tokenizer& tokenizer,
                              bool is_batch) {
  ResultArrays result;
  NamedTensors& arrays = result.tensors;
  for (const RecordedLayer& layer : recorded.layers) {
    const std::string prefix = concat_text("blocks.", layer.layer, ".attn.");
    arrays.emplace_back(prefix + "hook_pattern", layer.weights);
    if (layer.queries.defined()) {
      const std::string kind = layer.rotated ? "hook_rot_" : "hook_";
      arrays.emplace_back(prefix + kind + "q", layer.queries);
      arrays.emplace_back(prefix + kind + "k", layer.keys);
    }
    const std::vector<std::int32_t> heads(layer.heads.begin(), layer.heads.end());
    arrays.emplace_back(prefix + "heads", Tensor::from(heads, {std::ssize(heads)}));
  }
  std::vector<std::int32_t> lengths;
  for (std::size_t d = 0; d < recorded.documents.size(); ++d) {
    const RecordedDocument& document = recorded.documents[d];
    lengths.push_back(static_cast<std::int32_t>(document.cells.size()));
    const std::string number = is_batch ? concat_text(".", d) : "";
    result.texts.emplace_back("token_labels" + number, document.labels());
    if (recorded.unit != TextUnit::token) {
      const std::vector<Index> cell_indices = cells_of_tokens(document.cells);
      const std::vector<std::int32_t> cells(cell_indices.begin(), cell_indices.end());
      arrays.emplace_back("cells" + number, Tensor::from(cells, {std::ssize(cells)}));
    }
  }
  if (is_batch) {
    const PaddedBatch batch = pad_sequences(transformed(recorded.documents, &RecordedDocument::ids),
                                            tokenizer.end_of_text());
    arrays.emplace_back("lengths", Tensor::from(lengths, {std::ssize(lengths)}));
    arrays.emplace_back("tokens", batch.tokens);
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> attention_files(
    const RecordedAttention& recorded, const std::vector<AttentionMaps>& documents,
    const AttentionFilesOptions& options) {
  const auto wanted = [&](const char* format) { return options.formats.count(format) > 0; };
  std::vector<std::pair<std::string, std::string>> files;
  if (wanted("json")) {
    files.emplace_back("tokens.json", attention_tokens_json(recorded));
  }
  if (wanted("bertviz")) {
    files.emplace_back("bertviz.json", bertviz_json(documents));
  }
  const AttentionMaps drawn =
      options.differences
          ? attention_difference(documents.front(),
                                 documents[static_cast<std::size_t>(options.page.beside)])
          : documents.front();
  AttentionStyle style = options.page.style;
  style.differences = options.differences;
  if (wanted("svg") || wanted("png")) {
    add_layer_figures(drawn, style, options, files);
  }
  if (wanted("html")) {
    files.emplace_back("attention.html", attention_html(documents, options.page));
  }
  return files;
}

std::string attention_maps_text(const std::vector<AttentionMaps>& documents,
                                const AttentionTextOptions& options) {
  std::string text;
  for (const AttentionMaps& maps : documents) {
    for (const LayerAttention& layer : maps.layers) {
      for (std::size_t row = 0; row < layer.heads.size(); ++row) {
        text += (text.empty() ? "" : "\n") +
                attention_text(maps, layer, static_cast<Index>(row), options);
      }
    }
  }
  return text;
}

}  // namespace headlight
