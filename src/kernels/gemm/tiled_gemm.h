#pragma once

#include "kernels/gemm/gemm.h"

namespace headlight::kernels {

// The same product as gemm(), by the register tiles of gemm_tile.h. Every element of C is summed in
// an order that depends on k alone; the cut of the work over the threads is free.
template <class T>
void tiled_gemm(const Gemm<T>& product);
template <class T>
void tiled_gemm_on_this_thread(const Gemm<T>& product);

}  // namespace headlight::kernels
