#pragma once

#include "headlight/base/choices.h"

// Choice of the implementation of matrix products; see headlight/kernels/machine/machine.h.
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

// Returns whether the user's choice and the CPU variant lead to the register tiles of gemm_tile.h,
// not to OpenBLAS. Attention always has its own tiles.
bool products_are_own();

}  // namespace headlight::kernels
