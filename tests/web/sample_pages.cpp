// Writes the pages that the scripts of this folder open in a browser. small.html: two documents
// side by side with Korean, emoji and markup in tokens, classes of heads, queries and keys.
// large.html: 512 tokens, 12 layers of 12 heads. results.html: heat maps with intervals,
// markup and gaps, and a circuit.
#include <cmath>
#include <fstream>
#include <iostream>

#include "headlight/show/attention/attention_html.h"
#include "headlight/show/plot/circuit_plot.h"
#include "show/result/result.h"

using namespace headlight;

namespace {

// Fills a causal row that sums to 1 and is largest at the token `offset` places before the query.
void fill_row(float* row, Index query, Index offset) {
  double sum = 0.0;
  for (Index key = 0; key <= query; ++key) {
    const auto distance = static_cast<double>(query - key - offset);
    sum += row[key] = static_cast<float>(std::exp(-distance * distance / 4.0) + 0.001);
  }
  for (Index key = 0; key <= query; ++key) {
    row[key] = static_cast<float>(static_cast<double>(row[key]) / sum);
  }
}

LayerAttention layer_of(Index layer, Index heads, Index tokens) {
  LayerAttention result{layer, {}, Tensor::zeros({heads, tokens, tokens})};
  for (Index head = 0; head < heads; ++head) {
    result.heads.push_back(head);
    for (Index query = 0; query < tokens; ++query) {
      fill_row(result.weights.data<float>() + (head * tokens + query) * tokens, query,
               (layer + head) % 4);
    }
  }
  return result;
}

// Sets queries and keys of width 2, with key k = (k / 4, 1), and the weights of their softmax.
void explain(LayerAttention& layer, Index tokens) {
  const auto heads = static_cast<Index>(layer.heads.size());
  layer.queries = Tensor::zeros({heads, tokens, 2});
  layer.keys = Tensor::zeros({heads, tokens, 2});
  for (Index head = 0; head < heads; ++head) {
    for (Index token = 0; token < tokens; ++token) {
      float* query = layer.queries.data<float>() + (head * tokens + token) * 2;
      float* key = layer.keys.data<float>() + (head * tokens + token) * 2;
      query[0] = 0.5F * static_cast<float>(head + 1);
      query[1] = -0.25F;
      key[0] = static_cast<float>(token) / 4.0F;
      key[1] = 1.0F;
    }
    for (Index query = 0; query < tokens; ++query) {
      float* row = layer.weights.data<float>() + (head * tokens + query) * tokens;
      const double slope = 0.5 * static_cast<double>(head + 1) / 4.0 / std::sqrt(2.0);
      double sum = 0.0;
      for (Index key = 0; key <= query; ++key) {
        sum += std::exp(slope * static_cast<double>(key));
      }
      for (Index key = 0; key <= query; ++key) {
        row[key] = static_cast<float>(std::exp(slope * static_cast<double>(key)) / sum);
      }
    }
  }
}

AttentionMaps small_document(const std::vector<std::string>& tokens, const std::string& title) {
  AttentionMaps maps{title, tokens, {}, {}};
  const auto count = static_cast<Index>(tokens.size());
  maps.layers = {layer_of(0, 3, count), layer_of(1, 3, count)};
  explain(maps.layers[1], count);
  maps.scores[{0, 1}] = {"previous token", 0.97};
  return maps;
}

AttentionMaps large_document() {
  constexpr Index kTokens = 512;
  constexpr Index kSide = 12;
  const std::vector<std::string> words = {" the", " 하늘", "🙂", " cat", "\n", " sat", " on"};
  AttentionMaps maps{"large", {}, {}, {}};
  for (std::size_t i = 0; i < kTokens; ++i) {
    maps.tokens.push_back(words[(i * 5 + i / 7) % words.size()]);
  }
  for (Index layer = 0; layer < kSide; ++layer) {
    maps.layers.push_back(layer_of(layer, kSide, kTokens));
  }
  return maps;
}

ResultPage results() {
  CircuitResult circuit;
  const CircuitNode embed;
  const CircuitNode head{CircuitPart::head, 1, 2, 2};
  const CircuitNode mlp{CircuitPart::mlp, 2};
  const CircuitNode logits{CircuitPart::logits};
  circuit.edges = {{embed, head, Point::k, 0.75, true},
                   {head, mlp, {}, -0.25, true},
                   {mlp, logits, {}, 0.5, true},
                   {head, logits, {}, 0.375, true}};
  MatrixPlot shares{.title = "Recovered by resid_pre",
                    .row_title = "layer",
                    .column_title = "position",
                    .rows = numbers_to(4),
                    .columns = {"0 <b>", "1 하늘", "2 🙂", "3 </script>", "4 cat"},
                    .limit = 1};
  for (int i = 0; i < 20; ++i) {
    shares.values.push_back(i == 7 ? std::nan("") : (i % 9) / 8.0 - 0.25);
    shares.lows.push_back(shares.values.back() - 0.125);
    shares.highs.push_back(shares.values.back() + 0.125);
  }
  MatrixPlot wide{.title = "Wide",
                  .row_title = "layer",
                  .column_title = "neuron",
                  .rows = numbers_to(3),
                  .columns = numbers_to(40),
                  .note = "caution: a note",
                  .doubtful = true};
  for (int i = 0; i < 120; ++i) {
    wide.values.push_back(std::sin(i));
  }
  MatrixPlot list{.title = "Loss", .row_title = "layer", .rows = numbers_to(3), .columns = {""}};
  list.values = {3.5, 2.25, 1};
  return {.title = "What <resid_pre> carries",
          .note = "logit of 'a' minus that of 'b': clean +2.000, corrupt -1.000.",
          .graph = circuit_svg(circuit, "Circuit", "4 edges"),
          .grids = {{"recovered", shares}, {"wide", wide}, {"loss", list}}};
}

void write_page(const std::string& path, const std::string& page) {
  std::ofstream file(path, std::ios::binary);
  file << page;
  require(file.flush().good(), path, ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    require(argc == 2, "usage: sample_pages DIRECTORY");
    const std::string directory = argv[1];
    const AttentionMaps first =
        small_document({"<b>", " 하늘", "🙂", "\n", " cat", " cat", "\t", "</script>"}, "first");
    const AttentionMaps second = small_document({" a", " dog", " ran"}, "second");
    const AttentionPageOptions options{.beside = 1};
    write_page(directory + "/small.html", attention_html({first, second}, options));
    write_page(directory + "/results.html", result_html(results()));
    write_page(directory + "/large.html", attention_html(large_document()));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
