#include "headlight/kernels/precision.h"

#include "headlight/base/error.h"
#include "headlight/kernels/machine.h"
#include "kernels/gemm/gemm.h"

namespace headlight {

void require_precision(Precision precision) {
  require_value(precision == Precision::float32 || !kernels::bfloat16_instructions().empty(),
                "dtype", "bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; ",
                "use float32 here");
  require_value(precision == Precision::float32 || products_name() != "blas", "dtype",
                "bfloat16 products are computed by Headlight's own tiles, not by BLAS; ",
                "use float32 with --products blas");
}

}  // namespace headlight
