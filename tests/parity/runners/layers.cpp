#include "headlight/ops/activation.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/fused_layers.h"
#include "headlight/ops/normalization.h"
#include "headlight/ops/preference.h"
#include "headlight/ops/rope.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

NormParameters norm_of(const Run& run) {
  return {.gain = run.input("gain"),
          .shift = run.input("shift"),
          .epsilon = run.attribute("epsilon", 1e-5),
          .kind = parse_name<NormKind>("kind", run.attribute<std::string>("kind", "layer")),
          .gain_plus_one = run.attribute("gain_plus_one", false)};
}

Precision precision_of(const Run& run) {
  return parse_name<Precision>("dtype", run.attribute<std::string>("precision", "float32"));
}

Activation activation_of(const Run& run) {
  return parse_name<Activation>("activation", run.attribute<std::string>("activation", "gelu_new"));
}

RopeOptions rope_options(const Run& run) {
  const auto text = [&](const char* name, const char* fallback) {
    return run.attribute<std::string>(name, fallback);
  };
  return {.theta = run.attribute("theta", 10000.0),
          .width = run.attribute("width", Index{0}),
          .style = parse_name<RotaryStyle>("style", text("style", "half")),
          .scaling = parse_name<RopeScaling>("scaling", text("scaling", "none")),
          .factor = run.attribute("factor", 1.0),
          .low_freq_factor = run.attribute("low_freq_factor", 1.0),
          .high_freq_factor = run.attribute("high_freq_factor", 4.0),
          .original_max_position_embeddings =
              run.attribute("original_max_position_embeddings", Index{8192})};
}

void run_inverse_frequencies(Run& run) {
  const RopeOptions options = rope_options(run);
  const std::vector<float> table = inverse_frequencies(options, options.width);
  run.output(
      "y", convert(Tensor::from(std::span<const float>(table), {static_cast<Index>(table.size())}),
                   run.input("like").dtype()));
}

void run_layer_norm(Run& run) {
  const NormParameters norm = norm_of(run);
  run.output("y", layer_norm(run.input("x"), norm.gain, norm.shift, norm.epsilon));
}

void run_rms_norm(Run& run) {
  const NormParameters norm = norm_of(run);
  run.output("y", rms_norm(run.input("x"), norm.gain, norm.epsilon));
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
                                                .gate_weight = run.input("gate_weight"),
                                                .gate_bias = run.input("gate_bias"),
                                                .activation = activation_of(run),
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
          .cap = run.attribute("cap", 0.0),
          .label_smoothing = run.attribute("label_smoothing", 0.0),
          .z_loss = run.attribute("z_loss", 0.0),
          .precision = precision_of(run)};
}

// Reference log-probabilities [P, 2].
std::vector<PreferredPair> pairs_of(const Tensor& values) {
  const std::vector<double> all = values.to_vector();
  std::vector<PreferredPair> pairs;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    pairs.push_back({.chosen = all[i], .rejected = all[i + 1]});
  }
  return pairs;
}

void run_preference_loss(Run& run) {
  run.output("y", preference_loss(run.input("x"), run.attribute<std::vector<Index>>("offsets", {}),
                                  pairs_of(run.input("reference")),
                                  {.beta = run.attribute("beta", 0.1),
                                   .normalizer = run.attribute("normalizer", Index{0})}));
}

void run_pair_log_probabilities(Run& run) {
  const Tensor x = run.input("x");
  std::vector<double> values;
  for (const PreferredPair& pair : pair_log_probabilities(
           convert(x, DType::float64), run.attribute<std::vector<Index>>("offsets", {}))) {
    values.insert(values.end(), {pair.chosen, pair.rejected});
  }
  run.output("y", convert(Tensor::from(values, {std::ssize(values) / 2, 2}), x.dtype()));
}

void run_preference_margins(Run& run) {
  const Tensor x = run.input("x");
  const std::vector<double> margins =
      preference_margins(pairs_of(x), pairs_of(run.input("reference")));
  run.output("y", convert(Tensor::from(margins, {std::ssize(margins)}), x.dtype()));
}

}  // namespace

Runners layer_runners() {
  return {
      {"layer_norm", run_layer_norm},
      {"rms_norm", run_rms_norm},
      {"normalize", [](Run& run) { run.output("y", normalize(run.input("x"), norm_of(run))); }},
      {"activate", [](Run& run) { run.output("y", activate(run.input("x"), activation_of(run))); }},
      {"inverse_frequencies", run_inverse_frequencies},
      {"rope",
       [](Run& run) {
         run.output("y", rope(run.input("x"), run.input("positions"), rope_options(run)));
       }},
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
         // convert() has no gradient; cases with one have float64 losses.
         run.output("y", run.attribute("float64", false) ? losses : convert(losses, x.dtype()));
       }},
      {"preference_loss", run_preference_loss},
      {"pair_log_probabilities", run_pair_log_probabilities},
      {"preference_margins", run_preference_margins},
  };
}

}  // namespace headlight::parity
