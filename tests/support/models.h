#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/generate/generator.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/multi_head_attention.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/softmax.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "support/lists.h"
#include "support/tensors.h"

// Small models, their weights and their gradients.
namespace headlight::test {

inline Tensor parameter_of(const Module& module, std::string_view name) {
  for (const auto& [own_name, tensor] : module.parameters()) {
    if (own_name == name) {
      return tensor;
    }
  }
  fail("no parameter is called ", name);
}

// Overwrites a parameter with row-major values.
inline void set_parameter(const Module& module, std::string_view name,
                          const std::vector<double>& values) {
  Tensor parameter = parameter_of(module, name);
  parameter.copy_from(Tensor::from(values, parameter.shape()));
}

// Sets every weight uniformly in +-0.5 and every norm gain around 1, so that no gradient is small
// by accident.
inline void randomize(const Module& module, std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (auto& [name, parameter] : module.parameters()) {
    const bool gain = name.find("ln_") != std::string::npos && name.ends_with("weight");
    const double centre = gain ? 1.0 : 0.0;
    parameter.copy_from(random_uniform(parameter.shape(), {seed, stream++}, centre - 0.5,
                                       centre + 0.5, DType::float64));
  }
}

// Draws values for tensors, each from a stream of its own.
inline void draw_normal(const NamedTensors& tensors, std::uint64_t seed, double mean,
                        double deviation) {
  std::uint64_t stream = 0;
  for (auto [name, tensor] : tensors) {
    tensor.copy_from(random_normal(tensor.shape(), {seed, stream++}, mean, deviation));
  }
}

inline void draw_uniform(const NamedTensors& tensors, std::uint64_t seed, double low, double high) {
  std::uint64_t stream = 0;
  for (auto [name, tensor] : tensors) {
    tensor.copy_from(random_uniform(tensor.shape(), {seed, stream++}, low, high));
  }
}

// Copies parameters of the same names and shapes.
inline void copy_parameters(const Module& from, const Module& to) {
  for (auto& [name, parameter] : to.parameters()) {
    parameter.copy_from(parameter_of(from, name));
  }
}

// Copies the projections of an attention without shared key heads to a MultiHeadAttention.
inline void copy_projections(const CausalSelfAttention& from, const MultiHeadAttention& to) {
  for (const auto& [name, joined] : from.parameters()) {
    const std::string kind = name.substr(name.find('.'));
    if (name.starts_with("c_proj")) {
      parameter_of(to, name).copy_from(joined);
      continue;
    }
    const Index rows = joined.size(0) / 3;
    Index begin = 0;
    for (const char* projection : {"q_proj", "k_proj", "v_proj"}) {
      parameter_of(to, projection + kind).copy_from(slice(joined.detach(), 0, begin, begin + rows));
      begin += rows;
    }
  }
}

// Checks that two lists have the same names and values.
inline void check_same_tensors(const NamedTensors& a, const NamedTensors& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i].first);
    CHECK(a[i].first == b[i].first);
    CHECK(a[i].second.shape() == b[i].second.shape());
    CHECK(a[i].second.to_vector() == b[i].second.to_vector());
  }
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  require(a.shape() == b.shape(), "shapes differ: ", a.shape(), " and ", b.shape());
  const std::vector<double> x = a.to_vector();
  const std::vector<double> y = b.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    largest = difference <= largest ? largest : difference;  // NaN is kept
  }
  return largest;
}

inline double norm(const Tensor& x) {
  return std::sqrt(sum_of<double>(x.to_vector(), [](double value) { return value * value; }));
}

// |a - b| / |b|
inline double relative_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector();
  const std::vector<double> y = b.to_vector();
  require(a.shape() == b.shape(), "shapes differ: ", a.shape(), " and ", b.shape());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += (x[i] - y[i]) * (x[i] - y[i]);
  }
  const double scale = norm(b);
  return sum == 0 ? 0 : std::sqrt(sum) / scale;
}

inline bool all_zero(const Tensor& x) {
  return std::ranges::all_of(x.to_vector(), [](double value) { return value == 0; });
}

inline bool all_finite(const Tensor& x) {
  return std::ranges::all_of(x.to_vector(), [](double value) { return std::isfinite(value); });
}

// Returns the gradients of a module in the order of its parameters; zeros where there is none.
inline std::vector<Tensor> gradients_of(const Module& module) {
  std::vector<Tensor> gradients;
  for (const auto& [name, parameter] : module.parameters()) {
    const Tensor gradient = parameter.grad();
    gradients.push_back(gradient.defined() ? gradient.clone()
                                           : Tensor::zeros(parameter.shape(), parameter.dtype()));
  }
  return gradients;
}

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    same = same_bits(a[i], b[i]);
  }
  return same;
}

// Returns `count` pseudo-random ids below `vocabulary`.
inline Ids draw_ids(Index count, Index vocabulary, std::uint64_t stream = 0) {
  const RandomStream random{99, stream};
  return counted<std::int32_t>(count, [&](Index i) {
    return static_cast<std::int32_t>(
        random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(vocabulary)));
  });
}

// Returns the logits [V] after the last of `tokens`, which continue the sequence of the cache.
inline Tensor next_logits(const Gpt& gpt, const Ids& tokens, KeyValueCache& cache) {
  KeyValueCache* const caches[] = {&cache};
  const Tensor logits =
      gpt.logits(continue_sequences({tokens}, {cache.length()}), {.caches = caches});
  const Index width = logits.size(1);
  return logits.strided_view({width}, {1}, (logits.size(0) - 1) * width);
}

// Returns the log-probabilities [T, V] of the tokens that may follow each token of a text.
inline Tensor log_probabilities(const Gpt& gpt, const Ids& text, ForwardHook* hook = nullptr) {
  const NoGrad no_grad;
  return log_softmax(gpt.logits(make_batch({text}), {.hook = hook}));
}

inline double element(const Tensor& matrix, Index row, Index column) {
  return matrix.to_vector().at(static_cast<std::size_t>(row * matrix.size(1) + column));
}

inline std::vector<Point> all_points() {
  return mapped<Point>(kChoices<Point>, [&](const Choice<Point>& choice) { return choice.value; });
}

// Returns small configurations that together have every point of a layer and every order of its
// steps.
inline std::vector<GptConfig> configs_of_all_kinds() {
  const GptConfig small{.vocab_size = 13, .block_size = 8, .n_layer = 3, .n_head = 2, .n_embd = 6};
  std::vector<GptConfig> configs(9, small);
  configs[1].norm = NormPosition::post;
  configs[2].mlp = false;
  configs[3].head_width = 5;  // pruned
  configs[3].heads_per_layer = {1, 2, 2};
  configs[4].activation = Activation::relu;
  configs[4].norm = NormPosition::post;
  configs[4].bias = false;
  configs[5].norm_type = NormKind::rms;  // like Gemma; heads do not divide evenly among members
  configs[5].norm_gain_plus_one = true;
  configs[5].output_norms = true;
  configs[5].qk_norm = true;
  configs[5].position = PositionKind::rope;
  configs[5].n_head = 3;
  configs[5].n_kv_head = 1;
  configs[5].head_width = 4;
  configs[5].gated_mlp = true;
  configs[5].embedding_scale = 2;
  configs[6].position = PositionKind::rope;  // like GPT-NeoX
  configs[6].head_width = 4;
  configs[6].parallel_residual = true;
  configs[6].shared_norm = true;
  configs[7].norm = NormPosition::output;  // like OLMo 2, with Gemma 2's caps
  configs[7].position = PositionKind::rope;
  configs[7].head_width = 4;
  configs[7].qk_norm = true;
  configs[7].qk_norm_whole = true;
  configs[7].attention_cap = 0.6;
  configs[7].logit_cap = 0.4;
  configs[8] = configs[6];  // like nanochat, with OLMo 1's limit
  configs[8].parallel_residual = false;
  configs[8].shared_norm = false;
  configs[8].norm_weights = false;
  configs[8].qk_norm = true;
  configs[8].qk_norm_last = true;
  configs[8].rope.reversed = true;
  configs[8].qkv_clip = 0.05;
  configs[8].logit_cap = 15;
  return configs;
}

// Returns sizes as a model of Llama's kind.
inline GptConfig llama_like(GptConfig sizes) {
  sizes.bias = false;
  sizes.norm_type = NormKind::rms;
  sizes.position = PositionKind::rope;
  sizes.activation = Activation::silu;
  sizes.gated_mlp = true;
  return sizes;
}

// A model whose next token depends only on the position: after position p, script[p] is by far the
// most likely. block_size is the length of the script.
inline std::unique_ptr<Gpt> scripted_model(Index vocabulary,
                                           const std::vector<std::int32_t>& script) {
  GptConfig config{.vocab_size = vocabulary,
                   .block_size = static_cast<Index>(script.size()),
                   .n_layer = 1,
                   .n_head = 1};
  config.n_embd = 2 * config.block_size;
  config.tie_weights = false;
  auto model = std::make_unique<Gpt>(config);
  for (auto& [name, parameter] : model->parameters()) {
    if (name == "wpe.weight" || name == "lm_head.weight" || name == "wte.weight" ||
        name == "h.0.attn.c_proj.weight" || name == "h.0.mlp.c_proj.weight") {
      parameter.fill(0);
    }
    // The embedding of position p is the unit vector p, which the head reads. A logit of 100 makes
    // all other tokens impossible at temperature 1.
    for (Index p = 0; p < config.block_size; ++p) {
      if (name == "wpe.weight") {
        parameter.data<float>()[p * config.n_embd + p] = 1;
      } else if (name == "lm_head.weight") {
        const auto id = script[static_cast<std::size_t>(p)];
        parameter.data<float>()[id * config.n_embd + p] = 100;
      }
    }
  }
  return model;
}

// A model with random weights so large that its texts vary even when decoded greedily.
inline std::unique_ptr<Gpt> lively_model(Index vocabulary, Index block_size, Index layers = 2) {
  GptConfig config{.vocab_size = vocabulary,
                   .block_size = block_size,
                   .n_layer = layers,
                   .n_head = 2,
                   .n_embd = 16,
                   .tie_weights = false};
  auto model = std::make_unique<Gpt>(config);
  std::uint64_t number = 0;
  for (auto& [name, parameter] : model->parameters()) {
    if (parameter.rank() >= 2) {
      parameter.copy_from(random_normal(parameter.shape(), RandomStream{5, number++}, 0, 0.5));
    }
  }
  return model;
}

inline std::vector<std::int32_t> byte_ids(std::string_view text) {
  return ByteTokenizer().encode(text);
}

// Returns a script whose text starts after a one-byte prompt.
inline std::vector<std::int32_t> script_of(std::string_view text) {
  std::vector<std::int32_t> script = byte_ids(text);
  script.push_back(ByteTokenizer().end_of_text());
  return script;
}

inline GenerateOptions greedy(Index count) {
  GenerateOptions options{.max_new_tokens = count};
  options.sampling.temperature = 0;
  return options;
}

}  // namespace headlight::test
