#include "kernels/panels/panels.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

const Int8Panels& int8_panels() {
  if (cpu_variant() == CpuVariant::v4 && has_vnni()) {
    return vnni::kInt8Panels;
  }
  return pick(cpu_variant(), baseline::kInt8Panels, v2::kInt8Panels, v3::kInt8Panels,
              v4::kInt8Panels);
}

}  // namespace

bool has_vnni() {
#if defined(__x86_64__)
  // Cached: in a virtual machine CPUID takes as long as a product.
  static const bool has = supports(CpuVariant::v4) && __builtin_cpu_supports("avx512vnni");
  return has;
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

const DecodeLoops& decode_loops() {
  return pick(cpu_variant(), baseline::kDecodeLoops, v2::kDecodeLoops, v3::kDecodeLoops,
              v4::kDecodeLoops);
}

void multiply_panels(PanelFormat format, const PanelProduct& product) {
  const DecodeLoops& loop = decode_loops();
  switch (format) {
    case PanelFormat::bfloat16:
      loop.multiply_bfloat16(product);
      return;
    case PanelFormat::int8:
      int8_panels().multiply(product);
      return;
    case PanelFormat::float32:
      break;
  }
  loop.multiply_float32(product);
}

}  // namespace headlight::kernels
