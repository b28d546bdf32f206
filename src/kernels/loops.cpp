#include "kernels/loops.h"

#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

enum class Variant { baseline, v3, v4 };

Variant best_variant() {
#if defined(HEADLIGHT_X86_VARIANTS)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Variant::v4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return Variant::v3;
  }
#endif
  return Variant::baseline;
}

Variant variant() {
  static const Variant chosen = best_variant();
  return chosen;
}

}  // namespace

template <>
const Loops<float>& loops() {
#if defined(HEADLIGHT_X86_VARIANTS)
  static const Loops<float>& chosen = variant() == Variant::v4   ? v4::kFloatLoops
                                      : variant() == Variant::v3 ? v3::kFloatLoops
                                                                 : baseline::kFloatLoops;
  return chosen;
#else
  return baseline::kFloatLoops;
#endif
}

// float64 serves gradient checks, where speed matters little.
template <>
const Loops<double>& loops() {
  return baseline::kDoubleLoops;
}

std::string_view loops_variant() {
  switch (variant()) {
    case Variant::v4:
      return "x86-64-v4";
    case Variant::v3:
      return "x86-64-v3";
    case Variant::baseline:
      break;
  }
  return "baseline";
}

}  // namespace headlight::kernels
