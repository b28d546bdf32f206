#include "kernels/cpu_variant.h"

#include <algorithm>
#include <atomic>

#include "headlight/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headlight::kernels {
namespace {

#if defined(__x86_64__)

// CPUID bits without a name in current compilers. A virtual machine may hide any of them.
struct UnnamedFeatures {
  bool cmpxchg16b = false;
  bool movbe = false;
  bool f16c = false;
  bool lahf = false;
  bool lzcnt = false;
};

UnnamedFeatures unnamed_features() {
  UnnamedFeatures features;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    features.cmpxchg16b = (c >> 13 & 1U) != 0;
    features.movbe = (c >> 22 & 1U) != 0;
    features.f16c = (c >> 29 & 1U) != 0;
  }
  if (__get_cpuid(0x80000001U, &a, &b, &c, &d) != 0) {
    features.lahf = (c & 1U) != 0;
    features.lzcnt = (c >> 5 & 1U) != 0;
  }
  return features;
}

// __builtin_cpu_supports also checks that the operating system saves the wider registers.
bool supports_v2() {
  const UnnamedFeatures features = unnamed_features();
  return features.cmpxchg16b && features.lahf && __builtin_cpu_supports("popcnt") &&
         __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") &&
         __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
}

bool supports_v3() {
  const UnnamedFeatures features = unnamed_features();
  return supports_v2() && features.movbe && features.f16c && features.lzcnt &&
         __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma");
}

bool supports_v4() {
  return supports_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#else

bool supports_v2() { return false; }
bool supports_v3() { return false; }
bool supports_v4() { return false; }

#endif

CpuVariant best_variant() {
  return *std::find_if(kCpuVariants.rbegin(), kCpuVariants.rend(), supports);
}

std::atomic<CpuVariant>& chosen_variant() {
  static std::atomic<CpuVariant> chosen{best_variant()};
  return chosen;
}

std::string supported_names() {
  std::string names;
  for (const CpuVariant variant : kCpuVariants) {
    if (supports(variant)) {
      names += (names.empty() ? "" : ", ") + std::string(name_of(variant));
    }
  }
  return names;
}

}  // namespace

std::string_view name_of(CpuVariant variant) {
  constexpr std::array<std::string_view, kCpuVariants.size()> kNames{"baseline", "v2", "v3", "v4"};
  return kNames[static_cast<std::size_t>(variant)];
}

bool supports(CpuVariant variant) {
  switch (variant) {
    case CpuVariant::v4:
      return supports_v4();
    case CpuVariant::v3:
      return supports_v3();
    case CpuVariant::v2:
      return supports_v2();
    case CpuVariant::baseline:
      break;
  }
  return true;
}

CpuVariant cpu_variant() { return chosen_variant().load(std::memory_order_relaxed); }

void set_cpu_variant(CpuVariant variant) {
  require(supports(variant), "[cpu_variant] this machine cannot run '", name_of(variant),
          "', only: ", supported_names());
  chosen_variant().store(variant, std::memory_order_relaxed);
}

}  // namespace headlight::kernels
