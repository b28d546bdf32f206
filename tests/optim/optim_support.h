#pragma once

#include "support/test.h"

namespace headlight::test {

// Makes `gradient` the gradient of a leaf.
inline void set_gradient(Tensor& parameter, const Tensor& gradient) {
  parameter.zero_grad();
  backward(sum(parameter * gradient));
}

inline std::vector<std::string> state_names(const NamedTensors& state) {
  return mapped<std::string>(state, [&](const auto& entry) { return entry.first; });
}

}  // namespace headlight::test
