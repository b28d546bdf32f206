#include "headlight/nn/gpt_config.h"

namespace headlight {
namespace {

// Far above any model that a CPU can train; keeps products of sizes inside 64 bits.
constexpr Index kLargestSize = Index{1} << 24;

void require_size(const char* name, Index value) {
  require(value >= 1 && value <= kLargestSize, name, ": expected 1 to ", kLargestSize, ", got ",
          value);
}

void require_probability(const char* name, double value) {
  require(value >= 0 && value < 1, name, ": expected 0 to below 1, got ", value);
}

}  // namespace

Index GptConfig::heads(Index layer) const {
  return heads_per_layer.empty() ? n_head : heads_per_layer[static_cast<std::size_t>(layer)];
}

void GptConfig::validate() const {
  require_size("vocab_size", vocab_size);
  require_size("block_size", block_size);
  require_size("n_layer", n_layer);
  require(n_layer <= 4096, "n_layer: expected 1 to 4096, got ", n_layer);
  require_size("n_head", n_head);
  require_size("n_embd", n_embd);
  require(head_width >= 0 && head_width <= kLargestSize, "head_width: expected 0 to ", kLargestSize,
          ", got ", head_width);
  require(head_width > 0 || n_embd % n_head == 0, "n_head: ", n_head,
          " heads do not divide n_embd ", n_embd);
  require(heads_per_layer.empty() || static_cast<Index>(heads_per_layer.size()) == n_layer,
          "heads_per_layer: expected ", n_layer, " numbers, got ", heads_per_layer.size());
  for (const Index heads : heads_per_layer) {
    require(heads >= 1 && heads <= n_head, "heads_per_layer: expected 1 to ", n_head, ", got ",
            heads);
  }
  require_probability("attention_dropout", attention_dropout);
  require_probability("residual_dropout", residual_dropout);
  require_probability("embedding_dropout", embedding_dropout);
  require(layer_norm_epsilon > 0 && layer_norm_epsilon < 1,
          "layer_norm_epsilon: expected above 0 and below 1, got ", layer_norm_epsilon);
}

ParameterCounts count_parameters(const GptConfig& config) {
  config.validate();
  // Sizes up to 2^24 overflow 64 bits when multiplied; in float64 they only lose precision, and
  // what is that large is refused.
  const auto width = static_cast<double>(config.n_embd);
  const auto layers = static_cast<double>(config.n_layer);
  const double one = config.bias ? 1 : 0;
  const Index head_width =
      config.head_width > 0 ? config.head_width : config.n_embd / config.n_head;
  double attention = 0;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const double inner = static_cast<double>(config.heads(layer)) * static_cast<double>(head_width);
    attention += 4 * width * inner + one * (3 * inner + width);
  }
  const double norm_count =
      (config.mlp ? 2 : 1) * layers + (config.norm == NormPosition::pre ? 1 : 0);
  const double embedding = static_cast<double>(config.vocab_size) * width;
  const double positions = static_cast<double>(config.block_size) * width;
  const double mlp = config.mlp ? layers * (8 * width * width + one * 5 * width) : 0;
  require(attention + 2 * embedding + positions + mlp < 0x1p48, "the model is too large: about ",
          attention + embedding + positions + mlp, " parameters");
  return {.token_embedding = static_cast<Index>(embedding),
          .position_embedding = static_cast<Index>(positions),
          .attention = static_cast<Index>(attention),
          .mlp = static_cast<Index>(mlp),
          .norms = static_cast<Index>(norm_count * width * (1 + one)),
          .head = config.tie_weights ? 0 : static_cast<Index>(embedding)};
}

double training_flops(const GptConfig& config, const std::vector<Index>& offsets) {
  config.validate();
  double pairs = 0;  // a query sees itself and what came before
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto length = static_cast<double>(offsets[b + 1] - offsets[b]);
    pairs += length * (length + 1) / 2;
  }
  const Index head_width =
      config.head_width > 0 ? config.head_width : config.n_embd / config.n_head;
  double inner = 0;  // H D of all layers
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    inner += static_cast<double>(config.heads(layer)) * static_cast<double>(head_width);
  }
  const auto width = static_cast<double>(config.n_embd);
  const double mlp = config.mlp ? 8 * width * width * static_cast<double>(config.n_layer) : 0;
  const double head = width * static_cast<double>(config.vocab_size);
  const auto tokens = static_cast<double>(offsets.empty() ? 0 : offsets.back());
  return 6 * (4 * width * inner + mlp + head) * tokens + 12 * inner * pairs;
}

}  // namespace headlight
