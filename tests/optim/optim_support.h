#pragma once

#include <string>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/reduce.h"
#include "headlight/tensor/named_tensors.h"
#include "support/lists.h"
#include "support/tensors.h"

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
