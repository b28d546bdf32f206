#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cli/lab/lab.h"
#include "cli/lab/pictures.h"
#include "cli/lab/tensors.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/layers.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"
#include "headlight/tensor/tensor.h"
#include "views/report/table.h"
#include "views/report/terminal_text.h"

namespace headlight::cli::lab {
namespace {

// Mean weight of real queries, over rows with pads: on all pads of a row together, and on one pad.
struct PadShare {
  double together = 0;
  double each = 0;
};

// weights [B, H, L, L]; `lengths` [B]: real tokens of each sequence.
PadShare share_of_pads(const Tensor& weights, const std::vector<Index>& lengths) {
  const std::vector<double> values = weights.to_vector();
  const Index side = weights.size(-1);
  double sum = 0;
  double pads = 0;
  Index rows = 0;
  for (Index row = 0; row < weights.numel() / side; ++row) {
    const Index length = lengths[static_cast<std::size_t>(row / (side * weights.size(1)))];
    if (row % side >= length || length == side) {
      continue;
    }
    for (Index s = length; s < side; ++s) {
      sum += values[static_cast<std::size_t>(row * side + s)];
      ++pads;
    }
    ++rows;
  }
  return {sum / static_cast<double>(rows), sum / pads};
}

// Largest difference between the rows of two pads of sequence 1, which has `length` real tokens.
double spread_of_pad_rows(const Tensor& weights, Index length) {
  const Index side = weights.size(-1);
  const Tensor rows = slice(slice(weights, 0, 1, 2), 2, length, side);
  const Tensor last = slice(rows, 2, side - length - 1, side - length);
  return max(sqrt(pow(sub(rows, last), 2))).item();
}

constexpr Index kVocabulary = 100;
constexpr Index kModelWidth = 512;
constexpr Index kHeads = 8;
constexpr Index kHeadWidth = kModelWidth / kHeads;
constexpr double kDarkest = 0.2;  // weight of the darkest shade

std::vector<std::vector<std::int32_t>> sequences() {
  return {{62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75},
          {60, 96, 51, 32, 90},
          {35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54},
          {75, 51},
          {66, 88, 98, 47},
          {21, 39, 10, 64, 21},
          {98},
          {77, 65, 51, 77, 19, 15, 35, 19, 23, 97, 50, 46, 53, 42, 45, 91, 66, 3, 43, 10},
          {70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34},
          {20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43}};
}

// Rows of the table of shapes.
class Steps {
 public:
  Tensor keep(const char* name, const char* axes, const Tensor& value) {
    const Shape& shape = value.shape();
    measured_.push_back(
        {{"step", name}, {"shape", std::vector<Index>(shape.begin(), shape.end())}});
    shown_.push_back({{"step", name}, {"shape", concat_text(shape)}, {"axes", axes}});
    return value;
  }

  const Json& measured() const { return measured_; }
  const Json& shown() const { return shown_; }

 private:
  Json measured_;
  Json shown_;
};

Linear square_layer(const RandomStream& random) {
  return Linear({.inputs = kModelWidth, .outputs = kModelWidth}, random);
}

// Query, key and value of all heads, [B, H, L, d_k].
struct Heads {
  Tensor query;
  Tensor key;
  Tensor value;
};

Heads split_into_heads(const Tensor& embedded, const RandomStream& random, Steps& steps) {
  const auto project = [&](const char* name, std::uint64_t stream) {
    return reshape(
        steps.keep(name, "B, L, d_model", square_layer(random.fork(stream)).forward(embedded)),
        {embedded.size(0), -1, kHeads, kHeadWidth});
  };
  const Tensor q = project("w_q(batch_emb)", 1);
  const Tensor k = project("w_k(batch_emb)", 2);
  const Tensor v = project("w_v(batch_emb)", 3);
  steps.keep("q, k, v .view", "B, L, heads, d_k", q);
  return {steps.keep("q, k, v .transpose(1, 2)", "B, heads, L, d_k", transpose(q, 1, 2)),
          transpose(k, 1, 2), transpose(v, 1, 2)};
}

// Computes the weights and the layer output from the heads.
std::pair<Tensor, Tensor> attend(const Heads& heads, const RandomStream& random, Steps& steps) {
  const Tensor scores =
      steps.keep("attn_scores = q k^T / sqrt(d_k)", "B, heads, L, L",
                 matmul(heads.query, transpose(heads.key)) / std::sqrt(double{kHeadWidth}));
  const Tensor weights = steps.keep("attn_dists = softmax", "B, heads, L, L", softmax(scores));
  const Tensor values =
      steps.keep("attn_values = attn_dists v", "B, heads, L, d_k", matmul(weights, heads.value));
  const Tensor turned =
      steps.keep("attn_values.transpose(1, 2)", "B, L, heads, d_k", transpose(values, 1, 2));
  const Tensor joined = steps.keep("contiguous().view", "B, L, d_model",
                                   reshape(turned, {turned.size(0), -1, kModelWidth}));
  return {weights, steps.keep("w_0(attn_values)", "B, L, d_model",
                              square_layer(random.fork(4)).forward(joined))};
}

// Grid of ids. Pads are dots.
std::string grid_of(const PaddedBatch& batch) {
  const std::vector<double> ids = batch.tokens.to_vector();
  const std::vector<double> pads = batch.padding_mask.to_vector();
  const auto width = static_cast<std::size_t>(batch.tokens.size(1));
  std::string grid;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    grid += pads[i] != 0 ? "  ·" : pad_left(fixed_number(ids[i], 0), 3);
    grid += (i + 1) % width == 0 ? "\n" : "";
  }
  return grid;
}

void show_batch(const PaddedBatch& batch, Report& report) {
  const Index real = std::accumulate(batch.lengths.begin(), batch.lengths.end(), Index{0});
  const Index places = batch.tokens.numel();
  report.values() = {{"longest", batch.tokens.size(1)},
                     {"real_tokens", real},
                     {"places", places},
                     {"batch", batch.tokens.to_vector()}};
  report.section("batch", {{"grid", grid_of(batch)}, {"percent", 100 * real / places}});
}

// The first sequence's values.
std::string first_of(const char* name, const Tensor& x) {
  return named_tensor_text(name, reshape(slice(x, 0, 0, 1), {x.size(-2), x.size(-1)}));
}

// Draws the first head of sequence 1. Returns its rows of real tokens and one pad.
std::string draw_weights(const std::string& name, const Tensor& weights, const PaddedBatch& batch,
                         Report& report) {
  const Index side = weights.size(-1);
  const Index rows = batch.lengths[1] + 1;
  const Tensor head = reshape(slice(slice(weights, 0, 1, 2), 1, 0, 1), {side, side});
  const std::vector<std::string> tokens = transformed(
      slice(batch.tokens, 0, 1, 2).to_vector(), [](double id) { return fixed_number(id, 0); });
  report.figure(name + ".svg", weights_svg(report.entry("words", name), tokens, head));
  return shades(slice(head, 0, 0, rows), {tokens.begin(), tokens.begin() + rows}, kDarkest);
}

void show_pads(const Tensor& unmasked, const Tensor& masked, const PaddedBatch& batch,
               Report& report) {
  const std::array<PadShare, 2> shares{share_of_pads(unmasked, batch.lengths),
                                       share_of_pads(masked, batch.lengths)};
  std::vector<std::pair<std::string, std::string>> pictures;
  for (const bool with : {false, true}) {
    const std::string name = with ? "padding_mask" : "no_mask";
    report.values()["pads"].push_back({{"masked", with},
                                       {"weight_on_pads", shares[with].together},
                                       {"weight_on_each_pad", shares[with].each}});
    pictures.emplace_back(report.entry("words", name),
                          draw_weights(name, with ? masked : unmasked, batch, report));
  }
  report.section(
      "pads",
      {{"tokens", batch.lengths[1]}, {"darkest", kDarkest}, {"pictures", side_by_side(pictures)}});
  report.claim("pads_attract_attention", shares[0].together > 0.1 && shares[1].together == 0);
  const double spread = spread_of_pad_rows(unmasked, batch.lengths[1]);
  report.claim("pad_rows_are_equal", spread < 1e-6, {{"spread", spread}});
}

}  // namespace

void run_shapes(const Settings& settings, Report& report) {
  const NoGrad no_grad;
  report.section("introduction");
  const PaddedBatch batch = pad_sequences(sequences(), 0);
  show_batch(batch, report);
  const RandomStream random{settings.seed, 0};
  Steps steps;
  steps.keep("batch", "B, L", batch.tokens);
  const Embedding embedding({.count = kVocabulary, .width = kModelWidth}, random.fork(0));
  const Tensor embedded =
      steps.keep("embedding(batch)", "B, L, d_model", embedding.forward(batch.tokens));
  const Heads heads = split_into_heads(embedded, random, steps);
  const auto [weights, output] = attend(heads, random, steps);
  report.values()["steps"] = steps.measured();
  report.section("steps", {{"steps", steps.shown()},
                           {"embedded", first_of("emb[0]", embedded)},
                           {"output", first_of("out[0]", output)}});
  const Tensor hidden =
      reshape(batch.padding_mask, {batch.tokens.size(0), 1, 1, batch.tokens.size(1)});
  const Tensor masked =
      scaled_dot_product_attention(heads.query, heads.key, heads.value, {.mask = hidden}).weights;
  show_pads(weights, masked, batch, report);
}

}  // namespace headlight::cli::lab
