#include "course/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/transformed.h"
#include "course/report/tensors.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/softmax.h"

namespace headlight::cli::lab {
namespace {

std::vector<Index> numbers(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Adds steps to a table.
class StepList {
 public:
  StepList(const MultiHeadAttention& layer, std::vector<Step>& steps) : steps_(steps) {
    for (const auto& [name, tensor] : layer.parameters()) {
      weights_[name] = tensor;
    }
  }

  Tensor keep(const std::string& name, const char* axes, const Tensor& value) {
    steps_.push_back({name, axes, value});
    return value;
  }

  // x times the weight of a projection, plus its bias if there is one.
  Tensor project(const std::string& name, const std::string& part, const Tensor& x) {
    const Tensor product = matmul(x, transpose(weights_.at(part + ".weight")));
    const auto bias = weights_.find(part + ".bias");
    return keep(name, "B, L, d_model", bias == weights_.end() ? product : product + bias->second);
  }

 private:
  std::vector<Step>& steps_;
  std::map<std::string, Tensor> weights_;
};

// Projects x and splits the columns into heads.
void split_heads(const MultiHeadAttention& layer, const Tensor& x, const std::string& input,
                 StepList& list, AttentionSteps& result) {
  const Shape heads{x.size(0), -1, layer.heads(), layer.head_width()};
  const Tensor q = reshape(list.project("w_q(" + input + ")", "q_proj", x), heads);
  const Tensor k = reshape(list.project("w_k(" + input + ")", "k_proj", x), heads);
  const Tensor v = reshape(list.project("w_v(" + input + ")", "v_proj", x), heads);
  list.keep("q.view(B, L, heads, d_k)", "B, L, heads, d_k", q);
  result.query = list.keep("q.transpose(1, 2)", "B, heads, L, d_k", transpose(q, 1, 2));
  result.key = transpose(k, 1, 2);
  result.value = transpose(v, 1, 2);
  list.keep("k.transpose(-2, -1)", "B, heads, d_k, L", transpose(result.key));
}

// Computes the scores and the weights.
void attend(const Tensor& hidden, Index head_width, StepList& list, AttentionSteps& result) {
  const char* axes = "B, heads, L, L";
  const double root = std::sqrt(static_cast<double>(head_width));
  result.scores =
      list.keep("q @ k^T / sqrt(d_k)", axes, matmul(result.query, transpose(result.key)) / root);
  if (hidden.defined()) {
    result.masked =
        list.keep("masked_fill(mask, -inf)", axes,
                  masked_fill(result.scores, hidden, -std::numeric_limits<double>::infinity()));
  }
  result.weights =
      list.keep("softmax(dim=-1)", axes, softmax(hidden.defined() ? result.masked : result.scores));
}

// Computes the outputs of the heads, joins and projects them.
void join_heads(const MultiHeadAttention& layer, StepList& list, AttentionSteps& result) {
  const Tensor values =
      list.keep("attn_dists @ v", "B, heads, L, d_k", matmul(result.weights, result.value));
  const Tensor transposed =
      list.keep("attn_values.transpose(1, 2)", "B, L, heads, d_k", transpose(values, 1, 2));
  const Tensor copied = list.keep(".contiguous()", "B, L, heads, d_k", contiguous(transposed));
  const Tensor joined = list.keep(".view(B, L, d_model)", "B, L, d_model",
                                  reshape(copied, {copied.size(0), -1, layer.inner_width()}));
  result.output = list.project("w_0(attn_values)", "c_proj", joined);
}

}  // namespace

void check_sizes(const LayerSizes& sizes) {
  const auto& [source, batch, tokens, width, heads] = sizes;
  require(width >= 1 && width <= kWidest, "--width: expected 1 to ", kWidest, ", got ", width);
  require(heads >= 1 && width % heads == 0, "--heads: expected a divisor of the width ", width,
          ", got ", heads);
  require(tokens <= kMostTokens, source, ": expected at most ", kMostTokens,
          " tokens in a sequence, got ", tokens);
  require(batch <= kMostWeights / (heads * tokens * tokens), source, ": expected at most ",
          kMostWeights, " weights (sequences x heads x tokens x tokens), got ", batch, " x ", heads,
          " x ", tokens, " x ", tokens);
  require(batch <= kMostFeatures / (tokens * width), source, ": expected at most ", kMostFeatures,
          " features (sequences x tokens x width), got ", batch, " x ", tokens, " x ", width);
}

Tensor word_ids(const std::vector<std::string>& words) {
  std::map<std::string, std::int32_t> known;
  const std::vector<std::int32_t> ids = transformed(words, [&](const std::string& word) {
    return known.try_emplace(word, static_cast<std::int32_t>(known.size())).first->second;
  });
  return Tensor::from(ids, {std::ssize(ids)});
}

Tensor embed(const Tensor& ids, Index width, const RandomStream& random) {
  std::map<double, Tensor> vectors;
  const std::vector<Tensor> rows = transformed(ids.to_vector(), [&](double id) {
    const auto [found, is_new] = vectors.try_emplace(id);
    if (is_new) {
      found->second = random_normal({width}, random.fork(static_cast<std::uint64_t>(id)));
    }
    return found->second;
  });
  return stack(rows);
}

AttentionSteps attention_steps(const MultiHeadAttention& layer, const Tensor& x,
                               const Tensor& hidden, const std::string& input) {
  AttentionSteps result;
  StepList list(layer, result.steps);
  list.keep(input, "B, L, d_model", x);
  split_heads(layer, x, input, list, result);
  attend(hidden, layer.head_width(), list, result);
  join_heads(layer, list, result);
  const auto [output, weights] = layer.forward(x, x, x, {.mask = hidden});
  result.difference = std::max(largest_difference(result.output, output),
                               largest_difference(result.weights, weights));
  return result;
}

Json steps_json(const std::vector<Step>& steps) {
  return json_list(steps, [](const Step& step) {
    return Json{{"step", step.name},
                {"axes", step.axes},
                {"shape", numbers(step.value.shape())},
                {"strides", numbers(step.value.strides())},
                {"contiguous", step.value.is_contiguous()}};
  });
}

Json shown_steps(const std::vector<Step>& steps) {
  return json_list(steps, [](const Step& step) {
    return Json{{"step", step.name},
                {"axes", step.axes},
                {"shape", concat_text(step.value.shape())},
                {"strides", concat_text(step.value.strides())},
                {"contiguous", step.value.is_contiguous()}};
  });
}

NamedTensors step_arrays(const MultiHeadAttention& layer, const Tensor& x,
                         const AttentionSteps& steps) {
  NamedTensors arrays{{"x", x},
                      {"q", steps.query},
                      {"k", steps.key},
                      {"v", steps.value},
                      {"attn_scores", steps.scores},
                      {"attn_dists", steps.weights},
                      {"output", steps.output}};
  if (steps.masked.defined()) {
    arrays.emplace_back("masked_scores", steps.masked);
  }
  for (const auto& [name, tensor] : layer.parameters()) {
    arrays.emplace_back(name, tensor);
  }
  return arrays;
}

}  // namespace headlight::cli::lab
