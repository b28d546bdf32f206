#include "headlight/nn/gpt_config.h"

#include <numeric>

namespace headlight {
namespace {

// Far above any model that a CPU can train; keeps products of sizes inside 64 bits.
constexpr Index kLargestSize = Index{1} << 24;

void require_size(const char* name, Index value) {
  require_value(value >= 1 && value <= kLargestSize, name, "expected 1 to ", kLargestSize, ", got ",
                value);
}

void require_probability(const char* name, double value) {
  require_value(value >= 0 && value < 1, name, "expected 0 to below 1, got ", value);
}

void check_head_numbers(const GptConfig& config) {
  const auto& layers = config.head_numbers;
  require_value(layers.empty() || std::ssize(layers) == config.n_layer, "head_numbers", "expected ",
                config.n_layer, " lists, got ", layers.size());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<Index>& numbers = layers[layer];
    const Index heads = config.heads(static_cast<Index>(layer));
    require_value(std::ssize(numbers) == heads, "head_numbers", "expected ", heads, " for layer ",
                  layer, ", got ", numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      require_value(
          numbers[i] >= 0 && numbers[i] < kLargestSize && (i == 0 || numbers[i - 1] < numbers[i]),
          "head_numbers", "expected rising numbers from 0 for layer ", layer, ", got ", numbers[i]);
    }
  }
}

}  // namespace

Index GptConfig::heads(Index layer) const {
  return heads_per_layer.empty() ? n_head : heads_per_layer[static_cast<std::size_t>(layer)];
}

HeadLayout GptConfig::head_layout() const {
  HeadLayout layout{.numbers = head_numbers,
                    .head_width = head_width > 0 ? head_width : n_embd / n_head};
  for (Index layer = layout.layers(); layer < n_layer; ++layer) {
    layout.numbers.emplace_back(static_cast<std::size_t>(heads(layer)));
    std::iota(layout.numbers.back().begin(), layout.numbers.back().end(), Index{0});
  }
  return layout;
}

void GptConfig::validate() const {
  require_size("vocab_size", vocab_size);
  require_size("block_size", block_size);
  require_size("n_layer", n_layer);
  require_value(n_layer <= 4096, "n_layer", "expected 1 to 4096, got ", n_layer);
  require_size("n_head", n_head);
  require_size("n_embd", n_embd);
  require_value(head_width >= 0 && head_width <= kLargestSize, "head_width", "expected 0 to ",
                kLargestSize, ", got ", head_width);
  require_value(head_width > 0 || n_embd % n_head == 0, "n_head", n_head,
                " heads do not divide n_embd ", n_embd);
  require_value(heads_per_layer.empty() || static_cast<Index>(heads_per_layer.size()) == n_layer,
                "heads_per_layer", "expected ", n_layer, " numbers, got ", heads_per_layer.size());
  for (const Index heads : heads_per_layer) {
    require_value(heads >= 1 && heads <= n_head, "heads_per_layer", "expected 1 to ", n_head,
                  ", got ", heads);
  }
  check_head_numbers(*this);
  require_value(!parallel_residual || (norm == NormPosition::pre && mlp), "parallel_residual",
                "expected norm = pre and MLPs beside it");
  require_value(!shared_norm || parallel_residual, "shared_norm",
                "expected parallel_residual beside it");
  require_value(n_inner >= 0 && n_inner <= kLargestSize, "n_inner", "expected 0 to ", kLargestSize,
                ", got ", n_inner);
  require_value(n_kv_head == 0 || (n_kv_head > 0 && n_head % n_kv_head == 0), "n_kv_head",
                "expected a divisor of ", n_head, " heads, got ", n_kv_head);
  require_value(n_kv_head == 0 || n_kv_head == n_head || heads_per_layer.empty(), "n_kv_head",
                "expected ", n_head, " where layers have different heads, got ", n_kv_head);
  require_value(windows.empty() || std::ssize(windows) == n_layer, "windows", "expected ", n_layer,
                " numbers, got ", windows.size());
  for (const Index window : windows) {
    require_value(window >= 0 && window <= kLargestSize, "windows", "expected 0 to ", kLargestSize,
                  ", got ", window);
  }
  require_value(attention_scale >= 0 && attention_scale <= 1e6, "attention_scale",
                "expected 0 to 1e6, got ", attention_scale);
  require_probability("attention_dropout", attention_dropout);
  require_probability("residual_dropout", residual_dropout);
  require_probability("embedding_dropout", embedding_dropout);
  require_value(layer_norm_epsilon > 0 && layer_norm_epsilon < 1, "layer_norm_epsilon",
                "expected above 0 and below 1, got ", layer_norm_epsilon);
}

}  // namespace headlight
