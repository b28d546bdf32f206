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

// Returns a bit of CPUID's register ECX that has no name in current compilers. A virtual machine
// may hide any of them.
bool has_bit(unsigned leaf, unsigned bit) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1U) != 0;
}

constexpr unsigned kExtended = 0x80000001U;

// __builtin_cpu_supports also checks that the operating system saves the wider registers.
bool supports_v2() {
  const bool cmpxchg16b = has_bit(1, 13);
  const bool lahf = has_bit(kExtended, 0);
  return cmpxchg16b && lahf && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse3") &&
         __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2");
}

bool supports_v3() {
  const bool movbe = has_bit(1, 22);
  const bool f16c = has_bit(1, 29);
  const bool lzcnt = has_bit(kExtended, 5);
  return supports_v2() && movbe && f16c && lzcnt && __builtin_cpu_supports("avx") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
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
  return variant == CpuVariant::baseline || (variant == CpuVariant::v2 && supports_v2()) ||
         (variant == CpuVariant::v3 && supports_v3()) ||
         (variant == CpuVariant::v4 && supports_v4());
}

CpuVariant cpu_variant() { return chosen_variant().load(std::memory_order_relaxed); }

void set_cpu_variant(CpuVariant variant) {
  require(supports(variant), "[cpu_variant] this machine cannot run '", name_of(variant),
          "', only: ", supported_names());
  chosen_variant().store(variant, std::memory_order_relaxed);
}

}  // namespace headlight::kernels
