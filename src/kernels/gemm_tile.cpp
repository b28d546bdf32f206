#include "kernels/gemm_tile.h"

#include "kernels/loops.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {

template <>
const GemmTiles<float>& gemm_tiles() {
#if defined(HEADLIGHT_X86_VARIANTS)
  if (loops_variant() == "x86-64-v4") {
    return v4::kFloatTiles;
  }
  if (loops_variant() == "x86-64-v3") {
    return v3::kFloatTiles;
  }
#endif
  return baseline::kFloatTiles;
}

template <>
const GemmTiles<double>& gemm_tiles() {
#if defined(HEADLIGHT_X86_VARIANTS)
  if (loops_variant() == "x86-64-v4") {
    return v4::kDoubleTiles;
  }
  if (loops_variant() == "x86-64-v3") {
    return v3::kDoubleTiles;
  }
#endif
  return baseline::kDoubleTiles;
}

}  // namespace headlight::kernels
