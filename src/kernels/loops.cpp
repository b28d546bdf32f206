#include "kernels/loops.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {

template <>
const Loops<float>& loops() {
  return pick(cpu_variant(), baseline::kFloatLoops, v2::kFloatLoops, v3::kFloatLoops,
              v4::kFloatLoops);
}

// Gradient checks use float64, where speed matters little.
template <>
const Loops<double>& loops() {
  return baseline::kDoubleLoops;
}

}  // namespace headlight::kernels
