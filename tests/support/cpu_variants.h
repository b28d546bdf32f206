#pragma once

#include <string>

#include "kernels/cpu_variant.h"
#include "kernels/loops.h"
#include "support/catch.h"

namespace headlight::test {

// Sets the instruction set of the kernels during its lifetime.
class VariantScope {
 public:
  explicit VariantScope(kernels::CpuVariant variant) : previous_(kernels::cpu_variant()) {
    kernels::set_cpu_variant(variant);
  }
  ~VariantScope() { kernels::set_cpu_variant(previous_); }
  VariantScope(const VariantScope&) = delete;
  VariantScope& operator=(const VariantScope&) = delete;

 private:
  kernels::CpuVariant previous_;
};

// Calls body() with every instruction set of this machine.
template <class Body>
void with_each_variant(const Body& body) {
  for (const kernels::CpuVariant variant : kernels::kCpuVariants) {
    if (kernels::supports(variant)) {
      INFO(std::string(kernels::name_of(variant)));
      const VariantScope scope(variant);
      body();
    }
  }
}

// Calls body(loops, tolerance) for every variant and type. The tolerance is relative. The one of
// float allows sums of some hundred terms of either sign.
template <class Body>
void for_all_loops(const Body& body) {
  with_each_variant([&] { body(kernels::loops<float>(), 2e-6); });
  INFO("float64");
  body(kernels::loops<double>(), 1e-14);
}

}  // namespace headlight::test
