#include "headlight/kernels/precision.h"

#include "headlight/base/error.h"
#include "headlight/kernels/machine.h"
#include "kernels/gemm/gemm.h"

namespace headlight {

Precision parse_precision(std::string_view name) {
  if (name == "bfloat16") {
    return Precision::bfloat16;
  }
  require(name == "float32", "dtype: expected float32 or bfloat16, got '", name, "'");
  return Precision::float32;
}

std::string_view precision_name(Precision precision) {
  return precision == Precision::bfloat16 ? "bfloat16" : "float32";
}

void require_precision(Precision precision) {
  require(precision == Precision::float32 || !kernels::bfloat16_instructions().empty(),
          "dtype: bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; ",
          "use float32 here");
  require(precision == Precision::float32 || products_name() != "blas",
          "dtype: bfloat16 products are computed by Headlight's own tiles, not by BLAS; ",
          "use float32 with --products blas");
}

}  // namespace headlight
