#include <memory>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/gpt_config_keys.h"
#include "headlight/nn/recorder.h"
#include "headlight/ops/attention.h"
#include "nn/block_order.h"

namespace headlight {
namespace {

// Returns the number of a dropout's random stream. 0 is the embedding's; each layer has three, by
// `site`: attention weights, attention output, MLP output.
std::uint64_t dropout_label(Index layer, Index site) {
  return static_cast<std::uint64_t>(1 + 3 * layer + site);
}

// Returns the configuration without lists of all layers, of which each layer has a copy.
GptConfig without_lists(const GptConfig& config) {
  GptConfig result = config;
  for (const GptConfigKey& key : gpt_config_keys()) {
    visit_value(key, result, [](auto& value) {
      if constexpr (requires { value.clear(); }) {
        value.clear();
      }
    });
  }
  return result;
}

CausalSelfAttentionOptions attention_options(const GptConfig& config, Index layer, DType dtype,
                                             Initialisation initialisation) {
  const BlockPlan plan = block_plan(config, layer);
  return {.width = config.n_embd,
          .plan = plan.attention,
          .config = without_lists(config),
          .bias = plan.qkv_bias,
          .output_bias = plan.attention_output_bias,
          .dropout = config.attention_dropout,
          .dropout_label = dropout_label(layer, 0),
          .layer = layer,
          .dtype = dtype,
          .initialisation = initialisation};
}

}  // namespace

Block::Block(const GptConfig& config, Index layer, DType dtype, const RandomStream& random,
             Initialisation initialisation)
    : plan_(block_plan(config, layer)),
      layer_(layer),
      attn_(attention_options(config, layer, dtype, initialisation), random.fork(0)),
      attention_dropout_(config.residual_dropout, dropout_label(layer, 1)),
      mlp_dropout_(config.residual_dropout, dropout_label(layer, 2)) {
  const NormOptions norm = config.norm_options(config.n_embd, dtype);
  const bool has_input_norms = plan_.norm != NormPosition::output;
  if (has_input_norms) {
    register_module("ln_1", ln_1_.emplace(norm));
  }
  register_module("attn", attn_);
  if (config.has_output_norms()) {
    register_module("ln_1_out", ln_1_out_.emplace(norm));
  }
  if (plan_.mlp_width) {
    mlp_.emplace(MlpOptions{.width = config.n_embd,
                            .inner_width = *plan_.mlp_width,
                            .activation = config.activation,
                            .gated = config.gated_mlp,
                            .bias = plan_.mlp_bias,
                            .layer = layer,
                            .dtype = dtype,
                            .initialisation = initialisation},
                 random.fork(1));
    if (has_input_norms && !plan_.shared_norm) {
      register_module("ln_2", ln_2_.emplace(norm));
    }
    register_module("mlp", *mlp_);
    if (config.has_output_norms()) {
      register_module("ln_2_out", ln_2_out_.emplace(norm));
    }
  }
}

// A layer's forward pass with gradients, in the steps that run_block() calls. Without a hook,
// the first product of a branch normalises its own input, instead of normalize().
class Block::Pass {
 public:
  Pass(const Block& block, const Tensor& x, const std::vector<Index>& offsets,
       const ForwardContext& context, KeptAttention* kept)
      : block_(block), stream_(x), offsets_(offsets), context_(context), kept_(kept) {}

  void visit(Point point) { stream_ = visited(context_.hook, {point, block_.layer_}, stream_); }

  void normalize(Branch branch) {
    const LayerNorm& norm = block_.norm(branch);
    const NormPoints points = norm_points(branch, block_.layer_);
    const bool is_watched =
        wants_any(context_.hook, {points.scale, points.normalized, points.result}, block_.layer_);
    if (block_.plan_.norm == NormPosition::post) {
      stream_ = norm.forward(stream_, context_.hook, points);
    } else if (is_watched) {
      normalized_ = norm.forward(stream_, context_.hook, points);
    } else {
      normalized_ = {};
      norm_ = norm.norm();
    }
  }

  void compute(Branch branch) {
    const bool is_normalized = normalized_.defined();
    const Tensor& x = is_normalized ? normalized_ : stream_;
    const std::optional<NormParameters> norm = is_normalized ? std::nullopt : norm_;
    output(branch) = branch == Branch::attention
                         ? block_.attn_.forward(x, offsets_, context_, norm, kept_)
                         : block_.mlp_->forward(x, context_, norm);
  }

  void add(Branch branch) {
    const bool is_attention = branch == Branch::attention;
    const Dropout& dropout = is_attention ? block_.attention_dropout_ : block_.mlp_dropout_;
    const HookSite site{is_attention ? Point::attn_out : Point::mlp_out, block_.layer_};
    const std::optional<LayerNorm>& norm = is_attention ? block_.ln_1_out_ : block_.ln_2_out_;
    const Tensor added = norm ? norm->forward(output(branch)) : output(branch);
    stream_ = stream_ + visited(context_.hook, site, dropout.forward(added, context_));
    output(branch) = {};
  }

  const Tensor& stream() const { return stream_; }

 private:
  Tensor& output(Branch branch) { return outputs_[branch == Branch::attention ? 0 : 1]; }

  const Block& block_;
  Tensor stream_;  // [N, C]
  const std::vector<Index>& offsets_;
  const ForwardContext& context_;
  KeptAttention* kept_;                 // may be null
  Tensor normalized_;                   // [N, C], if a hook watches the norm before a branch
  std::optional<NormParameters> norm_;  // that norm, if no hook watches
  Tensor outputs_[2];                   // [N, C], of attention and MLP
};

Tensor Block::forward(const Tensor& x, const std::vector<Index>& offsets,
                      const ForwardContext& context) const {
  const auto run = [this](const Tensor& input, const std::vector<Index>& own_offsets,
                          const ForwardContext& own, KeptAttention* kept) {
    Pass pass(*this, input, own_offsets, own, kept);
    if (own.recorder != nullptr && own.recorder->ends_pass(layer_)) {
      begin_block(plan_, pass);
    } else {
      run_block(plan_, pass);
    }
    return pass.stream();
  };
  if (!context.recompute || context.hook != nullptr || context.recorder != nullptr) {
    return run(x, offsets, context, nullptr);
  }
  // Attention is the costliest part of a layer to compute again, and its output is small.
  return recomputed(
      x, [run, offsets, context, kept = std::make_shared<KeptAttention>()](const Tensor& input) {
        return run(input, offsets, context, kept.get());
      });
}

}  // namespace headlight
