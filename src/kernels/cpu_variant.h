#pragma once

#include <array>
#include <string_view>

// Chooses between the copies of src/kernels/variants, which is compiled once per instruction set.
// pick() selects a table of kernels:
//
//   const Loops<float>& chosen() {
//     return pick(baseline::kTable, v3::kTable, v4::kTable);
//   }
namespace headlight::kernels {

// baseline: plain C++ for the compiler's target CPU. v3 (AVX2) and v4 (AVX-512): levels of the
// x86-64 psABI.
enum class CpuVariant { baseline, v3, v4 };

inline constexpr std::array kCpuVariants{CpuVariant::baseline, CpuVariant::v3, CpuVariant::v4};

// Returns "baseline", "v3" or "v4".
std::string_view name_of(CpuVariant variant);

// Returns whether the program has the variant's kernels (HEADLIGHT_ALL_CPUS in CMake).
bool is_compiled(CpuVariant variant);

// Returns whether they are compiled and this machine can run them.
bool supports(CpuVariant variant);

// Registers after x86's instruction CPUID; zeros for an unknown leaf. Defined on x86-64 only.
struct Cpuid {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
};
Cpuid cpuid(unsigned leaf, unsigned subleaf);

// Returns the variant in use: the best supported one, or the last one set.
CpuVariant cpu_variant();

// Call only while no kernel runs. Throws Error if the machine cannot run the variant.
void set_cpu_variant(CpuVariant variant);

// Returns the table of the variant in use.
template <class Table>
const Table& pick(const Table& baseline, const Table& v3, const Table& v4) {
  const std::array<const Table*, kCpuVariants.size()> tables{&baseline, &v3, &v4};
  return *tables[static_cast<std::size_t>(cpu_variant())];
}

}  // namespace headlight::kernels
