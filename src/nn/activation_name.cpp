#include <array>

#include "headlight/nn/layers.h"

namespace headlight {
namespace {

struct ActivationName {
  Activation activation;
  std::string_view name;
};

constexpr std::array<ActivationName, 3> kActivations{{{Activation::gelu_tanh, "gelu_new"},
                                                      {Activation::gelu_erf, "gelu"},
                                                      {Activation::relu, "relu"}}};

}  // namespace

Activation parse_activation(std::string_view name) {
  for (const ActivationName& entry : kActivations) {
    if (entry.name == name) {
      return entry.activation;
    }
  }
  fail("activation: expected gelu_new, gelu or relu, got '", name, "'");
}

std::string_view activation_name(Activation activation) {
  return kActivations[static_cast<std::size_t>(activation)].name;
}

}  // namespace headlight
