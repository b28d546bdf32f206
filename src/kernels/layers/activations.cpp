#include "kernels/layers/activations.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

template <class T>
const ActivationLoops<T>& loops_of(const Activations<T>& all, Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return all.gelu_tanh;
    case Activation::gelu_erf:
      return all.gelu_erf;
    case Activation::relu:
      return all.relu;
    case Activation::relu2:
      return all.relu2;
    case Activation::silu:
      break;
  }
  return all.silu;
}

}  // namespace

// The C library's erf is never vectorised, so one copy serves every instruction set with equal
// bits.
template <>
const ActivationLoops<float>& activation_loops(Activation activation) {
  if (activation == Activation::gelu_erf) {
    return baseline::kFloatActivations.gelu_erf;
  }
  return loops_of(pick(cpu_variant(), baseline::kFloatActivations, v2::kFloatActivations,
                       v3::kFloatActivations, v4::kFloatActivations),
                  activation);
}

template <>
const ActivationLoops<double>& activation_loops(Activation activation) {
  return loops_of(baseline::kDoubleActivations, activation);
}

}  // namespace headlight::kernels
