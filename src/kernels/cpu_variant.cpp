#include "kernels/cpu_variant.h"

#include <algorithm>
#include <atomic>

#include "headlight/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headlight::kernels {

#if defined(__x86_64__)
Cpuid cpuid(unsigned leaf, unsigned subleaf) {
  Cpuid result;
  __get_cpuid_count(leaf, subleaf, &result.a, &result.b, &result.c, &result.d);
  return result;
}
#endif

namespace {

// Names in __builtin_cpu_supports also mean that the operating system saves the wider registers. A
// virtual machine may hide any feature; some have no name in current compilers.
CpuVariant find_machine_variant() {
#if defined(__x86_64__)
  const auto has = [](unsigned leaf, unsigned bit) { return (cpuid(leaf, 0).c >> bit & 1U) != 0; };
  constexpr unsigned kExtended = 0x80000001U;
  const bool cmpxchg16b = has(1, 13);
  const bool movbe = has(1, 22);
  const bool f16c = has(1, 29);
  const bool lahf = has(kExtended, 0);
  const bool lzcnt = has(kExtended, 5);
  const bool v3 = cmpxchg16b && lahf && movbe && f16c && lzcnt &&
                  __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse4.2") &&
                  __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return kCpuVariants[std::size_t{v3} + std::size_t{v4}];
#else
  return CpuVariant::baseline;
#endif
}

// Cached: in a virtual machine CPUID takes as long as a product.
CpuVariant machine_variant() {
  static const CpuVariant best = find_machine_variant();
  return best;
}

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
  constexpr std::array<std::string_view, kCpuVariants.size()> kNames{"baseline", "v3", "v4"};
  return kNames[static_cast<std::size_t>(variant)];
}

bool supports(CpuVariant variant) { return variant <= machine_variant() && is_compiled(variant); }

CpuVariant cpu_variant() { return chosen_variant().load(std::memory_order_relaxed); }

void set_cpu_variant(CpuVariant variant) {
  require(is_compiled(variant), "[cpu_variant] this program was compiled without '",
          name_of(variant), "', only with: ", supported_names(),
          "; cmake -DHEADLIGHT_ALL_CPUS=ON compiles all");
  require(supports(variant), "[cpu_variant] this machine cannot run '", name_of(variant),
          "', only: ", supported_names());
  chosen_variant().store(variant, std::memory_order_relaxed);
}

}  // namespace headlight::kernels
