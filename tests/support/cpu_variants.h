#pragma once

#include "kernels/bfloat16/tiles.h"
#include "kernels/cpu_variant.h"
#include "kernels/loops.h"
#include "support/test.h"

namespace headlight::test {

// Sets the instruction set of the kernels during its lifetime.
using VariantScope = SettingScope<&kernels::cpu_variant, &kernels::set_cpu_variant>;

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

// Tiles of bfloat16 products by plain loops, so that tests on every machine see what is around
// them.
extern const kernels::Bfloat16Tiles kPlainTiles;

// Calls body(tiles) for plain loops, and for each of AMX and AVX512-BF16 that the machine supports.
template <class Body>
void with_each_tile_set(const Body& body) {
  {
    INFO(kPlainTiles.name);
    body(kPlainTiles);
  }
  for (const kernels::Bfloat16Tiles* tiles : kernels::bfloat16_tile_sets()) {
    INFO(tiles->name);
    body(*tiles);
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
