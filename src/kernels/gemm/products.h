#pragma once

#include "headlight/base/choices.h"

// Choice of the implementation of matrix products; see headlight/kernels/machine.h.
namespace headlight::kernels {

// The user's choice.
enum class Products { automatic, own, blas };

}  // namespace headlight::kernels

namespace headlight {

template <>
inline constexpr auto kChoices<kernels::Products> =
    std::to_array<Choice<kernels::Products>>({{"own", kernels::Products::own},
                                              {"blas", kernels::Products::blas},
                                              {"auto", kernels::Products::automatic}});

}  // namespace headlight

namespace headlight::kernels {

Products products();

// Call only while no kernel runs.
void set_products(Products products);

// The implementation that follows from the user's choice and the CPU variant.
enum class ProductEngine {
  tiles,     // the register tiles of gemm_tile.h
  openblas,  // single-threaded calls on a fixed set of tiles
};

ProductEngine gemm_engine();
ProductEngine attention_engine();

}  // namespace headlight::kernels
