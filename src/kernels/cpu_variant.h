#pragma once

#include <array>
#include <string_view>

// The sources in src/kernels/variants are compiled once for each instruction set; here one of the
// copies is chosen. A table of kernels gets its selector with pick:
//
//   const Loops<float>& chosen() {
//     return pick(cpu_variant(), baseline::kTable, v2::kTable, v3::kTable, v4::kTable);
//   }
namespace headlight::kernels {

// Plain C++ for whatever CPU the compiler builds for, and the levels x86-64-v2 (SSE4.2), v3 (AVX2)
// and v4 (AVX-512) of the x86-64 psABI.
enum class CpuVariant { baseline, v2, v3, v4 };

inline constexpr std::array kCpuVariants{CpuVariant::baseline, CpuVariant::v2, CpuVariant::v3,
                                         CpuVariant::v4};

// "baseline", "v2", "v3" or "v4".
std::string_view name_of(CpuVariant variant);

// True when this machine can run the variant.
bool supports(CpuVariant variant);

// What kernels compute with: the best variant that the machine supports, or what has been set.
CpuVariant cpu_variant();

// Not while something computes. The machine must support the variant.
void set_cpu_variant(CpuVariant variant);

// The table of one variant.
template <class Table>
const Table& pick(CpuVariant variant, const Table& baseline, const Table& v2, const Table& v3,
                  const Table& v4) {
  const std::array<const Table*, kCpuVariants.size()> tables{&baseline, &v2, &v3, &v4};
  return *tables[static_cast<std::size_t>(variant)];
}

}  // namespace headlight::kernels
