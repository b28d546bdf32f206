#pragma once

#include <string>

#include "headlight/base/choices.h"

// Who computes matrix products; see headlight/tensor/machine.h.
namespace headlight::kernels {

// What is asked for.
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

// Not while something computes.
void set_products(Products products);

// What that comes to with the CPU variant that was chosen.
enum class ProductEngine {
  tiles,     // the register tiles of gemm_tile.h
  openblas,  // single-threaded calls, one for each of a fixed set of tiles
};

ProductEngine gemm_engine();
ProductEngine attention_engine();

// One line when they are not the fast ones for this CPU, else an empty text.
std::string products_warning();

}  // namespace headlight::kernels
