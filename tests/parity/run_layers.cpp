#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/fused_layers.h"
#include "headlight/ops/normalization.h"
#include "parity/runners.h"

namespace headlight::parity {
namespace {

NormParameters norm_of(const Run& run) {
  return {run.input("gain"), run.input("shift"), run.attribute("epsilon", 1e-5)};
}

Precision precision_of(const Run& run) {
  return parse_name<Precision>("dtype", run.attribute<std::string>("precision", "float32"));
}

void run_layer_norm(Run& run) {
  const NormParameters norm = norm_of(run);
  run.output("y", layer_norm(run.input("x"), norm.gain, norm.shift, norm.epsilon));
}

void run_batch_norm(Run& run) {
  RunningStatistics running{run.input("mean").clone(), run.input("variance").clone()};
  const NormParameters norm = norm_of(run);
  run.output("y", batch_norm(run.input("x"), norm.gain, norm.shift, running,
                             {.training = run.attribute("training", true),
                              .momentum = run.attribute("momentum", 0.1),
                              .epsilon = norm.epsilon}));
  run.output("mean", running.mean);
  run.output("variance", running.variance);
}

void run_norm_linear(Run& run) {
  run.output("y", norm_linear(run.input("x"), norm_of(run), run.input("weight"), run.input("bias"),
                              precision_of(run)));
}

void run_feed_forward(Run& run) {
  run.output("y", feed_forward(run.input("x"), {.norm = norm_of(run),
                                                .up_weight = run.input("up_weight"),
                                                .up_bias = run.input("up_bias"),
                                                .down_weight = run.input("down_weight"),
                                                .down_bias = run.input("down_bias"),
                                                .precision = precision_of(run)}));
}

void run_embedding(Run& run) {
  const auto padding = run.attribute("padding_index", Index{-1});
  run.output("y", embedding(run.input("weight"), run.input("ids"),
                            padding < 0 ? std::nullopt : std::optional<Index>(padding)));
}

CrossEntropyOptions loss_options(const Run& run) {
  return {.ignore_index = run.attribute("ignore_index", Index{-1}),
          .normalizer = run.attribute("normalizer", Index{0}),
          .precision = precision_of(run)};
}

}  // namespace

Runners layer_runners() {
  return {
      {"layer_norm", run_layer_norm},
      {"batch_norm", run_batch_norm},
      {"norm_linear", run_norm_linear},
      {"feed_forward", run_feed_forward},
      {"embedding", run_embedding},
      {"cross_entropy",
       [](Run& run) {
         run.output("y", cross_entropy(run.input("x"), run.input("targets"), loss_options(run)));
       }},
      {"linear_cross_entropy",
       [](Run& run) {
         run.output("y", linear_cross_entropy(run.input("x"), run.input("weight"),
                                              run.input("targets"), loss_options(run)));
       }},
      {"linear_cross_entropy_rows",
       [](Run& run) {
         const Tensor x = run.input("x");
         const Tensor losses = linear_cross_entropy_rows(x, run.input("weight"),
                                                         run.input("targets"), loss_options(run));
         run.output("y", convert(losses, x.dtype()));
       }},
  };
}

}  // namespace headlight::parity
