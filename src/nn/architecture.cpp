#include "headlight/nn/architecture.h"

#include <algorithm>
#include <numeric>

#include "headlight/base/error.h"

namespace headlight {
namespace {

using Counts = ParameterCounts;

struct PartRow {
  const char* name;               // in Hugging Face's GPT-2
  Index ParameterCounts::*count;  // the count to which the part belongs
  Start start = Start::normal;
  HeadAxis heads = HeadAxis::none;
};

// In the order of Part.
constexpr PartRow kParts[] = {
    {"wte", &Counts::token_embedding},
    {"wpe", &Counts::position_embedding},
    {"wse", &Counts::position_embedding},
    {"ln_e", &Counts::norms, Start::ones},
    {"ln_1", &Counts::norms, Start::ones},
    {"attn.c_attn", &Counts::attention, Start::normal, HeadAxis::query_key_value},
    {"attn.c_proj", &Counts::attention, Start::residual, HeadAxis::output},
    {"attn.q_norm", &Counts::norms, Start::ones},
    {"attn.k_norm", &Counts::norms, Start::ones},
    {"ln_1_out", &Counts::norms, Start::ones},
    {"ln_2", &Counts::norms, Start::ones},
    {"mlp.c_fc", &Counts::mlp},
    {"mlp.c_gate", &Counts::mlp},
    {"mlp.c_proj", &Counts::mlp, Start::residual},
    {"ln_2_out", &Counts::norms, Start::ones},
    {"ln_f", &Counts::norms, Start::ones},
    {"head_transform", &Counts::head},
    {"head_norm", &Counts::head, Start::ones},
    {"lm_head", &Counts::head}};

static_assert(std::size(kParts) == kPartCount);

const PartRow& row_of(Part part) { return kParts[static_cast<std::size_t>(part)]; }

// A matrix or the gain of a norm, and its bias [shape[0]], if the model has this part.
struct PartShape {
  Part part;
  bool exists;
  Shape shape;
  bool has_bias = false;
};

bool has_shifts(const GptConfig& config) {
  return config.norm_options(config.n_embd, DType::float32).bias;
}

std::vector<PartShape> parts_of_layer(const GptConfig& config, Index layer) {
  const BlockPlan plan = block_plan(config, layer);
  const AttentionPlan& heads = plan.attention;
  const Index width = config.n_embd;
  const bool has_mlp = plan.mlp_width.has_value();
  const Index inner = plan.mlp_width.value_or(0);
  const bool shift = has_shifts(config);
  const bool has_input_norms = plan.norm != NormPosition::output;
  const Index query_norm = config.qk_norm_whole ? heads.inner_width() : heads.head_width;
  const Index key_norm = config.qk_norm_whole ? heads.key_width() : heads.head_width;
  return {{Part::attention_norm, has_input_norms, {width}, shift},
          {Part::query_key_value, true, {heads.qkv_width(), width}, plan.qkv_bias},
          {Part::attention_output, true, {width, heads.inner_width()}, plan.attention_output_bias},
          {Part::query_norm, config.qk_norm, {query_norm}, shift},
          {Part::key_norm, config.qk_norm, {key_norm}, shift},
          {Part::attention_output_norm, config.has_output_norms(), {width}, shift},
          {Part::mlp_norm, has_mlp && has_input_norms && !plan.shared_norm, {width}, shift},
          {Part::mlp_in, has_mlp, {inner, width}, plan.mlp_bias},
          {Part::mlp_gate, config.gated_mlp, {inner, width}, plan.mlp_bias},
          {Part::mlp_out, has_mlp, {width, inner}, plan.mlp_bias},
          {Part::mlp_output_norm, has_mlp && config.has_output_norms(), {width}, shift}};
}

// Appends the weights of the parts that exist.
void add_weights(const std::vector<PartShape>& parts, Index layer, const GptConfig& config,
                 std::vector<Weight>& weights) {
  const std::string prefix = layer == kNoLayer ? "" : "h." + std::to_string(layer) + ".";
  for (const auto& [part, exists, shape, has_bias] : parts) {
    const PartRow& row = row_of(part);
    const bool is_norm = row.start == Start::ones;
    if (!exists || (is_norm && !config.norm_weights)) {
      continue;
    }
    const bool is_head = part == Part::head || part == Part::head_transform ||
                         (part == Part::token_embedding && config.tie_weights);
    weights.push_back({.name = prefix + row.name + ".weight",
                       .shape = shape,
                       .part = part,
                       .layer = layer,
                       .start = is_norm && config.norm_gain_plus_one ? Start::zeros : row.start,
                       .multiplied = is_head || (layer != kNoLayer && !is_norm),
                       .heads = row.heads});
    if (has_bias) {
      // Heads do not divide an output's bias: a layer adds it once, to the sum over all heads.
      weights.push_back({.name = prefix + row.name + ".bias",
                         .shape = {shape[0]},
                         .part = part,
                         .is_bias = true,
                         .layer = layer,
                         .heads = row.heads == HeadAxis::output ? HeadAxis::none : row.heads});
    }
  }
}

// Returns the product of the sizes as float64: products of sizes up to 2^24 can overflow 64 bits.
double elements(const Shape& shape) {
  double count = 1;
  for (const Index size : shape) {
    count *= static_cast<double>(size);
  }
  return count;
}

// Returns the number of pairs of a query and a key that it sees: all keys, or with a causal mask
// its own and those before it, at most `window` (0: all).
double visible_pairs(double length, const AttentionPlan& plan) {
  if (!plan.causal) {
    return length * length;
  }
  const double seen =
      plan.window == 0 ? length : std::min(length, static_cast<double>(plan.window));
  return seen * (seen + 1) / 2 + (length - seen) * seen;
}

// Returns training_flops() of `tokens` tokens; pairs_of(plan) counts a layer's pairs of query and
// visible key.
template <class PairsOf>
double flops_of(const GptConfig& config, double tokens, const PairsOf& pairs_of) {
  double flops = 0;
  for (const Weight& weight : weights_of(config)) {
    flops += weight.multiplied ? 6 * elements(weight.shape) * tokens : 0;
  }
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const AttentionPlan plan = block_plan(config, layer).attention;
    flops += 12 * static_cast<double>(plan.inner_width()) * pairs_of(plan);
  }
  return flops;
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
  const Index width = config.n_embd;
  const Shape vocabulary{config.vocab_size, width};
  const bool has_positions = config.position == PositionKind::learned;
  std::vector<Weight> weights;
  if (config.has_head_bias() && config.tie_weights) {  // first: no module holds it
    weights.push_back({.name = "lm_head.bias",
                       .shape = {config.vocab_size},
                       .part = Part::head,
                       .is_bias = true});
  }
  add_weights({{Part::token_embedding, true, vocabulary},
               {Part::position_embedding, has_positions, {config.block_size, width}},
               {Part::segment_embedding, config.n_segment > 0, {config.n_segment, width}},
               {Part::embedding_norm, config.embedding_norm, {width}, has_shifts(config)}},
              kNoLayer, config, weights);
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    add_weights(parts_of_layer(config, layer), layer, config, weights);
  }
  add_weights({{Part::final_norm, config.has_final_norm(), {width}, has_shifts(config)},
               {Part::head_transform, config.masked_head, {width, width}, true},
               {Part::head_norm, config.masked_head, {width}, has_shifts(config)},
               {Part::head, !config.tie_weights, vocabulary, config.has_head_bias()}},
              kNoLayer, config, weights);
  return weights;
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
                 .qkv_bias = config.qkv_bias.value_or(config.bias),
                 .attention_output_bias = config.attention_output_bias.value_or(config.bias),
                 .mlp_bias = config.mlp_bias.value_or(config.bias)};
  const auto index = static_cast<std::size_t>(layer);
  plan.attention = {.heads = config.heads(layer),
                    .key_heads = config.n_kv_head > 0 ? config.n_kv_head : config.heads(layer),
                    .head_width = config.elements_of_head(),
                    .window = config.windows.empty() ? 0 : config.windows[index],
                    .causal = config.causal,
                    .scale = config.attention_scale,
                    .cap = config.attention_cap};
  if (!config.key_groups.empty()) {
    plan.attention.key_heads = std::ssize(config.key_groups[index]);
    plan.attention.key_ends = ends_of(config.key_groups[index]);
  }
  if (config.rotates(layer)) {
    plan.attention.rope = config.rope;
    if (plan.attention.window > 0 && config.rope_local_theta > 0) {
      plan.attention.rope = RopeOptions{.theta = config.rope_local_theta,
                                        .width = config.rope.width,
                                        .style = config.rope.style,
                                        .reversed = config.rope.reversed};
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
  const auto tokens = static_cast<double>(offsets.empty() ? 0 : offsets.back());
  return flops_of(config, tokens, [&](const AttentionPlan& plan) {
    double pairs = 0;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      pairs += visible_pairs(static_cast<double>(offsets[b + 1] - offsets[b]), plan);
    }
    return pairs;
  });
}

double training_flops_per_token(const GptConfig& config) {
  return flops_of(config, 1, [&](const AttentionPlan& plan) {
    return static_cast<double>(plan.window == 0 ? config.block_size
                                                : std::min(plan.window, config.block_size));
  });
}

}  // namespace headlight
