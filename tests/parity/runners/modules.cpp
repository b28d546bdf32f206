#include "headlight/nn/gpt.h"
#include "headlight/nn/multi_head_attention.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

void run_multi_head_attention(Run& run) {
  const Tensor query = run.input("query");
  const bool own_widths = !run.attribute("fused", true);
  const MultiHeadAttention attention({.width = query.size(2),
                                      .heads = run.attribute("heads", Index{1}),
                                      .key_width = own_widths ? run.input("key").size(2) : 0,
                                      .value_width = own_widths ? run.input("value").size(2) : 0,
                                      .bias = run.attribute("bias", true),
                                      .dtype = query.dtype()});
  run.load(attention);
  const bool is_self = !run.input("key").defined();
  const AttentionResult result = attention.forward(query, is_self ? query : run.input("key"),
                                                   is_self ? query : run.input("value"),
                                                   {.key_padding = run.input("key_padding"),
                                                    .mask = run.input("mask"),
                                                    .causal = run.attribute("causal", false),
                                                    .bias = run.input("bias")});
  run.output("y", result.output);
  run.output("weights", result.weights);
  run.output("mean_weights", mean(result.weights, {.axes = {1}}));
}

NormOptions norm_options(const Run& run, Index width) {
  return {.width = width,
          .epsilon = run.attribute("epsilon", 1e-5),
          .bias = run.attribute("bias", true),
          .dtype = run.input("x").dtype(),
          .affine = run.attribute("affine", true)};
}

void run_layer_norm_module(Run& run) {
  const Tensor x = run.input("x");
  const LayerNorm norm(norm_options(run, x.size(-1)));
  run.load(norm);
  run.output("y", norm.forward(x));
}

// x [steps, N, C] or [steps, N, C, L]: trains on each batch in turn, then evaluates the first.
void run_batch_norm_module(Run& run) {
  const Tensor x = run.input("x");
  BatchNorm1d norm(norm_options(run, x.size(2)), run.attribute("momentum", 0.1));
  run.load(norm);
  const auto batch = [&](Index step) {
    Shape shape = x.shape();
    shape.erase(0);
    return reshape(slice(x, 0, step, step + 1), shape);
  };
  std::vector<Tensor> outputs;
  for (Index step = 0; step < x.size(0); ++step) {
    outputs.push_back(norm.forward(batch(step), {.training = true}));
  }
  run.output("y", stack(outputs));
  run.output("mean", norm.running.mean.clone());
  run.output("variance", norm.running.variance.clone());
  run.output("evaluated", norm.forward(batch(0), {.training = false}));
}

GptConfig block_config(const Run& run) {
  return {.n_head = run.attribute("heads", Index{1}),
          .n_embd = run.input("x").size(-1),
          .norm = run.attribute("norm_first", true) ? NormPosition::pre : NormPosition::post,
          .activation = parse_name<Activation>(
              "activation", run.attribute<std::string>("activation", "gelu_new"))};
}

// Runs the causal block of Gpt on sequences laid end to end.
void run_block(Run& run) {
  const Block block(block_config(run), 0, run.input("x").dtype(), {});
  run.load(block);
  run.output("y", block.forward(run.input("x"), run.numbers("offsets"), {}));
}

// A layer of general modules without a causal mask, as torch.nn.TransformerEncoderLayer.
class EncoderLayer : public Module {
 public:
  EncoderLayer(const GptConfig& config, DType dtype)
      : norm_first_(config.norm == NormPosition::pre),
        ln_1_({.width = config.n_embd, .dtype = dtype}),
        attn_({.width = config.n_embd, .heads = config.n_head, .dtype = dtype}),
        ln_2_({.width = config.n_embd, .dtype = dtype}),
        mlp_({.width = config.n_embd, .activation = config.activation, .dtype = dtype}) {
    register_module("ln_1", ln_1_);
    register_module("attn", attn_);
    register_module("ln_2", ln_2_);
    register_module("mlp", mlp_);
  }

  Tensor forward(const Tensor& x, const Tensor& key_padding) const {
    const auto attend = [&](const Tensor& y) {
      return attn_.forward(y, y, y, {.key_padding = key_padding}).output;
    };
    if (norm_first_) {
      const Tensor middle = x + attend(ln_1_.forward(x));
      return middle + mlp_.forward(ln_2_.forward(middle));
    }
    const Tensor middle = ln_1_.forward(x + attend(x));
    return ln_2_.forward(middle + mlp_.forward(middle));
  }

 private:
  bool norm_first_;
  LayerNorm ln_1_;
  MultiHeadAttention attn_;
  LayerNorm ln_2_;
  Mlp mlp_;
};

void run_encoder_layer(Run& run) {
  const EncoderLayer layer(block_config(run), run.input("x").dtype());
  run.load(layer);
  run.output("y", layer.forward(run.input("x"), run.input("key_padding")));
}

}  // namespace

Runners module_runners() {
  return {{"MultiHeadAttention", run_multi_head_attention},
          {"LayerNorm", run_layer_norm_module},
          {"BatchNorm1d", run_batch_norm_module},
          {"Block", run_block},
          {"EncoderLayer", run_encoder_layer}};
}

}  // namespace headlight::parity
