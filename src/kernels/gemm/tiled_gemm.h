#pragma once

#include "kernels/gemm/gemm.h"

namespace headlight::kernels {

// Same contract as gemm(), by the register tiles of gemm_tile.h. The order of each element's sum
// depends on k alone, so the work may be divided among threads in any way.
template <class T>
void tiled_gemm(const Gemm<T>& product);
template <class T>
void tiled_gemm_on_this_thread(const Gemm<T>& product);

}  // namespace headlight::kernels
