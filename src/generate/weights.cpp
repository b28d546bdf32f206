#include "headlight/generate/weights.h"

#include "headlight/kernels/machine/memory.h"
#include "headlight/nn/architecture.h"
#include "kernels/panels/panels.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

// Returns the memory in bytes of the parameters and the Decoder's matrices together.
double decoder_memory(const GptConfig& config, WeightFormat format) {
  double matrices = 0;
  for (const Weight& weight : weights_of(config)) {
    matrices += weight.multiplied ? static_cast<double>(numel(weight.shape)) : 0;
  }
  const auto all = static_cast<double>(count_parameters(config).total());
  const double parameters = format == WeightFormat::float32 ? all : all - matrices;
  return 4 * parameters + weight_bytes(format) * matrices;
}

}  // namespace

void require_decoder_memory(const GptConfig& config, WeightFormat format) {
  const std::string missing = missing_memory(decoder_memory(config, format));
  if (missing.empty()) {
    return;
  }
  std::vector<std::string_view> others;
  for (const auto& [name, other] : kChoices<WeightFormat>) {
    if (missing_memory(decoder_memory(config, other)).empty()) {
      others.push_back(name);
    }
  }
  fail_value("weights", name_of(format), " weights do not fit in memory: they take ", missing, "; ",
             others.empty() ? "no other format fits" : listed(others) + " would fit");
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
      kernels::parallel_for(tensor.size(0), kernels::row_grain(columns),
                            [&](Index begin, Index end) {
                              for (Index row = begin; row < end; ++row) {
                                kernels::round_row(format, start + row * columns, columns);
                              }
                            });
    }
  }
}

}  // namespace headlight
