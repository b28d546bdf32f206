#include "parity/runners/runners.h"

namespace headlight::parity {

const Runners& all_runners() {
  static const Runners all = [] {
    Runners runners;
    for (const auto family : {elementwise_runners, matmul_runners, reduce_runners, softmax_runners,
                              mask_runners, layout_runners, layer_runners, attention_runners,
                              module_runners, gpt2_runners, family_runners, muon_runners}) {
      runners.merge(family());
    }
    return runners;
  }();
  return all;
}

Shape shape_attribute(const Run& run, const std::string& name) {
  const auto sizes = run.attribute<std::vector<Index>>(name, {});
  return Shape(std::span<const Index>(sizes));
}

}  // namespace headlight::parity
