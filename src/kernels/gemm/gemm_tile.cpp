#include "kernels/gemm/gemm_tile.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {

template <>
const GemmTiles<float>& gemm_tiles() {
  return pick(cpu_variant(), baseline::kFloatTiles, v2::kFloatTiles, v3::kFloatTiles,
              v4::kFloatTiles);
}

template <>
const GemmTiles<double>& gemm_tiles() {
  return pick(cpu_variant(), baseline::kDoubleTiles, v2::kDoubleTiles, v3::kDoubleTiles,
              v4::kDoubleTiles);
}

}  // namespace headlight::kernels
