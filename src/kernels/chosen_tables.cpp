#include "kernels/attention/attention_step.h"
#include "kernels/attention/weight_rows.h"
#include "kernels/cpu_variant.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/layers/activations.h"
#include "kernels/loops.h"
#include "kernels/panels/panels.h"
#include "kernels/panels/step_search.h"
#include "kernels/variants/tables.h"

// The tables of kernels for the CPU variant in use.
namespace headlight::kernels {

bool is_compiled(CpuVariant variant) {
  switch (variant) {
#if !defined(HEADLIGHT_KERNELS_V3)
    case CpuVariant::v3:
      return false;
#endif
#if !defined(HEADLIGHT_KERNELS_V4)
    case CpuVariant::v4:
      return false;
#endif
    default:
      return true;
  }
}

template <>
const Loops<float>& loops() {
  return pick(baseline::kFloatLoops, v3::kFloatLoops, v4::kFloatLoops);
}

// Gradient checks use float64, where speed matters little.
template <>
const Loops<double>& loops() {
  return baseline::kDoubleLoops;
}

template <>
const GemmTiles<float>& gemm_tiles() {
  return pick(baseline::kFloatTiles, v3::kFloatTiles, v4::kFloatTiles);
}

template <>
const GemmTiles<double>& gemm_tiles() {
  return pick(baseline::kDoubleTiles, v3::kDoubleTiles, v4::kDoubleTiles);
}

// The C library's erf is never vectorised, so one copy serves every instruction set with equal
// bits.
template <>
const ActivationLoops<float>& activation_loops(Activation activation) {
  const Activations<float>& all =
      activation == Activation::gelu_erf
          ? baseline::kFloatActivations
          : pick(baseline::kFloatActivations, v3::kFloatActivations, v4::kFloatActivations);
  return all.loops[static_cast<std::size_t>(activation)];
}

template <>
const ActivationLoops<double>& activation_loops(Activation activation) {
  return baseline::kDoubleActivations.loops[static_cast<std::size_t>(activation)];
}

const AttentionSteps& attention_steps() {
  return pick(baseline::kAttentionSteps, v3::kAttentionSteps, v4::kAttentionSteps);
}

const WeightRowLoops& weight_row_loops() {
  return pick(baseline::kWeightRowLoops, v3::kWeightRowLoops, v4::kWeightRowLoops);
}

const DecodeLoops& decode_loops() {
  return pick(baseline::kDecodeLoops, v3::kDecodeLoops, v4::kDecodeLoops);
}

const StepSearch& step_search() {
  return pick(baseline::kStepSearch, v3::kStepSearch, v4::kStepSearch);
}

const IntegerPanels& integer_panels(bool with_dot_products) {
  return with_dot_products ? dot::kIntegerPanels
                           : pick(baseline::kIntegerPanels, v3::kIntegerPanels, v4::kIntegerPanels);
}

const IntegerPanels& integer_panels() { return integer_panels(has_dot_products()); }

}  // namespace headlight::kernels
