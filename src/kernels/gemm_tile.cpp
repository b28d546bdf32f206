#include "kernels/gemm_tile.h"

#include "kernels/loops.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {

const GemmTiles& gemm_tiles() {
#if defined(HEADLIGHT_X86_VARIANTS)
  if (loops_variant() == "x86-64-v4") {
    return v4::kGemmTiles;
  }
  if (loops_variant() == "x86-64-v3") {
    return v3::kGemmTiles;
  }
#endif
  return baseline::kGemmTiles;
}

}  // namespace headlight::kernels
