#include "headlight/generate/weights.h"

#include "generate/packed_matrix.h"
#include "kernels/parallel.h"

namespace headlight {
void round_weights(Gpt& model, WeightFormat format) {
  require(model.dtype() == DType::float32, "[round_weights] expected a float32 model, got ",
          model.dtype());
  if (format == WeightFormat::float32) {
    return;
  }
  for (auto [weight, tensor] : model.weights()) {
    if (weight.multiplied) {
      float* start = tensor.mutable_data<float>();
      const Index columns = tensor.size(1);
      kernels::parallel_for(
          tensor.size(0), kernels::row_grain(columns), [&](Index begin, Index end) {
            for (Index row = begin; row < end; ++row) {
              kernels::round_row(panel_format(format), start + row * columns, columns);
            }
          });
    }
  }
}

}  // namespace headlight
