#include "kernels/panels/panels.h"

#include "kernels/cpu_variant.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace headlight::kernels {
bool has_dot_products() {
#if defined(__x86_64__)
  return cpu_variant() == CpuVariant::v4 && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

bool multiplies_int8_fast() {
#if defined(__x86_64__) || defined(__aarch64__) || defined(__wasm_simd128__)
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
