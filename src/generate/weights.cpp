#include "headlight/generate/weights.h"

#include <array>

#include "generate/packed_matrix.h"
#include "kernels/parallel.h"

namespace headlight {
namespace {

constexpr std::array kFormats{WeightFormat::float32, WeightFormat::bfloat16, WeightFormat::int8};

}  // namespace

std::string_view weight_format_name(WeightFormat format) {
  constexpr std::array<std::string_view, kFormats.size()> kNames{"float32", "bfloat16", "int8"};
  return kNames[static_cast<std::size_t>(format)];
}

WeightFormat parse_weight_format(std::string_view name) {
  for (const WeightFormat format : kFormats) {
    if (weight_format_name(format) == name) {
      return format;
    }
  }
  fail("weights: expected float32, bfloat16 or int8, got '", name, "'");
}

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
