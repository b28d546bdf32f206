#include "headlight/ops/attention.h"
#include "headlight/ops/layout.h"

#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

RandomStream random_of(const Run& run) {
  return {run.attribute<std::uint64_t>("seed", 0), run.attribute<std::uint64_t>("stream", 0)};
}

void run_scaled_dot_product(Run& run) {
  const AttentionResult result =
      scaled_dot_product_attention(run.input("query"), run.input("key"), run.input("value"),
                                   {.mask = run.input("mask"),
                                    .causal = run.attribute("causal", false),
                                    .bias = run.input("bias"),
                                    .scale = run.attribute("scale", 0.0),
                                    .dropout = run.attribute("dropout", 0.0),
                                    .random = random_of(run)});
  run.output("y", result.output);
  if (run.expects("weights")) {
    run.output("weights", result.weights);
  }
}

void run_ragged(Run& run) {
  std::vector<Tensor> weights;
  run.output("y", ragged_attention(run.input("qkv"), {.heads = run.attribute("heads", Index{1}),
                                                      .offsets = run.numbers("offsets"),
                                                      .scale = run.attribute("scale", 0.0),
                                                      .dropout = run.attribute("dropout", 0.0),
                                                      .random = random_of(run),
                                                      .weights = &weights}));
  for (std::size_t b = 0; b < weights.size(); ++b) {
    run.output("weights" + std::to_string(b), weights[b]);
  }
}

void run_cached(Run& run) {
  const Index length = run.attribute("length", Index{0});
  run.output("y", cached_attention(run.input("query"), slice(run.input("keys"), 1, 0, length),
                                   slice(run.input("values"), 1, 0, length)));
}

}  // namespace

Runners attention_runners() {
  return {{"scaled_dot_product_attention", run_scaled_dot_product},
          {"ragged_attention", run_ragged},
          {"cached_attention", run_cached}};
}

}  // namespace headlight::parity
