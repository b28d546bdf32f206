#include "kernels/panels/panels.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

const IntegerPanels& integer_panels() {
  if (cpu_variant() == CpuVariant::v4 && has_vnni()) {
    return vnni::kIntegerPanels;
  }
  return pick(baseline::kIntegerPanels, v2::kIntegerPanels, v3::kIntegerPanels, v4::kIntegerPanels);
}

}  // namespace

bool has_vnni() {
#if defined(__x86_64__)
  return supports(CpuVariant::v4) && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

bool multiplies_int8_fast() {
#if defined(__x86_64__) || defined(__wasm_simd128__)
  return true;
#else
  return false;
#endif
}

void multiply_panels(const PanelLayout& layout, const PanelProduct& product) {
  if (layout.format == WeightFormat::int8) {
    integer_panels().multiply(layout.integers, product);
  } else if (layout.format == WeightFormat::bfloat16) {
    decode_loops().multiply_bfloat16(product);
  } else {
    decode_loops().multiply_float32(product);
  }
}

}  // namespace headlight::kernels
