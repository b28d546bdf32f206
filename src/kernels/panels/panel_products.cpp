#include "kernels/panels/panels.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

const Int8Panels& int8_panels() {
  if (cpu_variant() == CpuVariant::v4 && has_vnni()) {
    return vnni::kInt8Panels;
  }
  return pick(baseline::kInt8Panels, v2::kInt8Panels, v3::kInt8Panels, v4::kInt8Panels);
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
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

void multiply_panels(WeightFormat format, const PanelProduct& product) {
  const auto multiply = format == WeightFormat::int8       ? int8_panels().multiply
                        : format == WeightFormat::bfloat16 ? decode_loops().multiply_bfloat16
                                                           : decode_loops().multiply_float32;
  multiply(product);
}

}  // namespace headlight::kernels
