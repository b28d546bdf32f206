#include "headlight/nn/architecture.h"

#include <algorithm>
#include <numeric>

#include "headlight/base/error.h"

namespace headlight {
namespace {

class WeightTable {
 public:
  explicit WeightTable(const GptConfig& config) : config_(config) {}

  void add_embedding(Part part, Index count, bool multiplied) {
    add({.shape = {count, config_.n_embd},
         .part = part,
         .start = Start::normal,
         .multiplied = multiplied});
  }

  void add_norm(Part part, Index layer, Index width) {
    const NormOptions options = config_.norm_options(width, DType::float32);
    add({.shape = {width},
         .part = part,
         .layer = layer,
         .start = options.gain_plus_one ? Start::zeros : Start::ones});
    if (options.bias) {
      add({.shape = {width}, .part = part, .is_bias = true, .layer = layer});
    }
  }

  // Weight [outputs, inputs] and bias [outputs].
  void add_linear(Part part, Index layer, const Shape& shape, bool bias,
                  HeadAxis heads = HeadAxis::none) {
    const bool into_stream = part == Part::attention_output || part == Part::mlp_out;
    add({.shape = shape,
         .part = part,
         .layer = layer,
         .start = into_stream ? Start::residual : Start::normal,
         .multiplied = true,
         .heads = heads});
    // The bias of an output belongs to no head: it is added once to the sum over all heads.
    if (bias) {
      add({.shape = {shape[0]},
           .part = part,
           .is_bias = true,
           .layer = layer,
           .heads = heads == HeadAxis::output ? HeadAxis::none : heads});
    }
  }

  void add_block(Index layer) {
    const Index width = config_.n_embd;
    const BlockPlan plan = block_plan(config_, layer);
    const Index inner = plan.attention.inner_width();
    add_norm(Part::attention_norm, layer, width);
    add_linear(Part::query_key_value, layer, {plan.attention.qkv_width(), width}, plan.qkv_bias,
               HeadAxis::query_key_value);
    add_linear(Part::attention_output, layer, {width, inner}, plan.attention_output_bias,
               HeadAxis::output);
    if (plan.qk_norm) {
      add_norm(Part::query_norm, layer, plan.attention.head_width);
      add_norm(Part::key_norm, layer, plan.attention.head_width);
    }
    if (plan.output_norms) {
      add_norm(Part::attention_output_norm, layer, width);
    }
    if (plan.mlp_width) {
      add_mlp(layer, plan);
    }
  }

  void add_mlp(Index layer, const BlockPlan& plan) {
    const Index width = config_.n_embd;
    if (!plan.shared_norm) {
      add_norm(Part::mlp_norm, layer, width);
    }
    add_linear(Part::mlp_in, layer, {*plan.mlp_width, width}, plan.mlp_bias);
    if (plan.gated_mlp) {
      add_linear(Part::mlp_gate, layer, {*plan.mlp_width, width}, plan.mlp_bias);
    }
    add_linear(Part::mlp_out, layer, {width, *plan.mlp_width}, plan.mlp_bias);
    if (plan.output_norms) {
      add_norm(Part::mlp_output_norm, layer, width);
    }
  }

  std::vector<Weight> take() { return std::move(weights_); }

 private:
  void add(Weight weight) {
    const std::string layer =
        weight.layer == kNoLayer ? "" : "h." + std::to_string(weight.layer) + ".";
    weight.name = layer + part_name(weight.part) + (weight.is_bias ? ".bias" : ".weight");
    weights_.push_back(std::move(weight));
  }

  const GptConfig& config_;
  std::vector<Weight> weights_;
};

struct PartRow {
  const char* name;               // in Hugging Face's GPT-2
  Index ParameterCounts::*count;  // the count to which the part belongs
};

// In the order of Part.
constexpr PartRow kParts[] = {{"wte", &ParameterCounts::token_embedding},
                              {"wpe", &ParameterCounts::position_embedding},
                              {"ln_1", &ParameterCounts::norms},
                              {"attn.c_attn", &ParameterCounts::attention},
                              {"attn.c_proj", &ParameterCounts::attention},
                              {"attn.q_norm", &ParameterCounts::norms},
                              {"attn.k_norm", &ParameterCounts::norms},
                              {"ln_1_out", &ParameterCounts::norms},
                              {"ln_2", &ParameterCounts::norms},
                              {"mlp.c_fc", &ParameterCounts::mlp},
                              {"mlp.c_gate", &ParameterCounts::mlp},
                              {"mlp.c_proj", &ParameterCounts::mlp},
                              {"ln_2_out", &ParameterCounts::norms},
                              {"ln_f", &ParameterCounts::norms},
                              {"lm_head", &ParameterCounts::head}};

const PartRow& row_of(Part part) { return kParts[static_cast<std::size_t>(part)]; }

// Returns the product of the sizes as float64: products of sizes up to 2^24 can overflow 64 bits.
double elements(const Shape& shape) {
  double count = 1;
  for (const Index size : shape) {
    count *= static_cast<double>(size);
  }
  return count;
}

// Returns training_flops() for these numbers of tokens and of pairs of query and key.
double flops_of(const GptConfig& config, double tokens, double pairs) {
  double multiplied = 0;  // W
  for (const Weight& weight : weights_of(config)) {
    multiplied += weight.multiplied ? elements(weight.shape) : 0;
  }
  double inner_widths = 0;  // H D of all layers
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    inner_widths += static_cast<double>(block_plan(config, layer).attention.inner_width());
  }
  return 6 * multiplied * tokens + 12 * inner_widths * pairs;
}

// Returns the running sums of `sizes`.
std::vector<Index> ends_of(const std::vector<Index>& sizes) {
  std::vector<Index> ends(sizes.size());
  std::partial_sum(sizes.begin(), sizes.end(), ends.begin());
  return ends;
}

}  // namespace

const char* part_name(Part part) { return row_of(part).name; }

std::vector<Weight> weights_of(const GptConfig& config) {
  config.validate();
  WeightTable table(config);
  table.add_embedding(Part::token_embedding, config.vocab_size, config.tie_weights);
  if (config.position == PositionKind::learned) {
    table.add_embedding(Part::position_embedding, config.block_size, false);
  }
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    table.add_block(layer);
  }
  if (config.norm == NormPosition::pre) {
    table.add_norm(Part::final_norm, kNoLayer, config.n_embd);
  }
  if (!config.tie_weights) {
    table.add_embedding(Part::head, config.vocab_size, true);
  }
  return table.take();
}

bool is_hidden_matrix(const Weight& weight) {
  return weight.multiplied && weight.layer != kNoLayer;
}

std::vector<HiddenMatrix> hidden_matrices_of(const GptConfig& config) {
  std::vector<HiddenMatrix> matrices;
  for (const Weight& weight : weights_of(config)) {
    if (is_hidden_matrix(weight)) {
      const AttentionPlan plan = block_plan(config, weight.layer).attention;
      matrices.push_back({weight.name});
      if (weight.part == Part::query_key_value) {
        matrices.back().blocks = {plan.inner_width(), plan.key_width(), plan.key_width()};
      }
    }
  }
  return matrices;
}

Index AttentionPlan::key_head(Index head) const {
  if (key_ends.empty()) {
    return head / (heads / key_heads);
  }
  return std::upper_bound(key_ends.begin(), key_ends.end(), head) - key_ends.begin();
}

BlockPlan block_plan(const GptConfig& config, Index layer) {
  BlockPlan plan{.norm = config.norm,
                 .parallel = config.parallel_residual,
                 .shared_norm = config.shared_norm,
                 .qk_norm = config.qk_norm,
                 .output_norms = config.output_norms,
                 .gated_mlp = config.gated_mlp,
                 .qkv_bias = config.qkv_bias.value_or(config.bias),
                 .attention_output_bias = config.attention_output_bias.value_or(config.bias),
                 .mlp_bias = config.mlp_bias.value_or(config.bias)};
  const auto place = static_cast<std::size_t>(layer);
  plan.attention = {.heads = config.heads(layer),
                    .key_heads = config.n_kv_head > 0 ? config.n_kv_head : config.heads(layer),
                    .head_width = config.elements_of_head(),
                    .window = config.windows.empty() ? 0 : config.windows[place],
                    .scale = config.attention_scale};
  if (!config.key_groups.empty()) {
    plan.attention.key_heads = std::ssize(config.key_groups[place]);
    plan.attention.key_ends = ends_of(config.key_groups[place]);
  }
  if (config.position == PositionKind::rope) {
    plan.attention.rope = config.rope;
    if (plan.attention.window > 0 && config.rope_local_theta > 0) {
      plan.attention.rope = RopeOptions{
          .theta = config.rope_local_theta, .width = config.rope.width, .style = config.rope.style};
    }
  }
  if (config.mlp) {
    plan.mlp_width = config.n_inner > 0 ? config.n_inner : 4 * config.n_embd;
  }
  return plan;
}

ParameterCounts count_parameters(const GptConfig& config) {
  const std::vector<Weight> weights = weights_of(config);
  double total = 0;
  for (const Weight& weight : weights) {
    total += elements(weight.shape);
  }
  require(total < 0x1p48, "the model is too large: about ", total, " parameters");
  ParameterCounts counts;
  for (const Weight& weight : weights) {
    counts.*row_of(weight.part).count += numel(weight.shape);
  }
  return counts;
}

double training_flops(const GptConfig& config, const std::vector<Index>& offsets) {
  double pairs = 0;  // each query sees itself and the tokens before it
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto length = static_cast<double>(offsets[b + 1] - offsets[b]);
    pairs += length * (length + 1) / 2;
  }
  const auto tokens = static_cast<double>(offsets.empty() ? 0 : offsets.back());
  return flops_of(config, tokens, pairs);
}

double training_flops_per_token(const GptConfig& config) {
  return flops_of(config, 1, static_cast<double>(config.block_size));
}

}  // namespace headlight
