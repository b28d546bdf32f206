#include "kernels/attention/weight_rows.h"

#include "kernels/cpu_variant.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {

const WeightRowLoops& weight_row_loops() {
  return pick(cpu_variant(), baseline::kWeightRowLoops, v2::kWeightRowLoops, v3::kWeightRowLoops,
              v4::kWeightRowLoops);
}

}  // namespace headlight::kernels
