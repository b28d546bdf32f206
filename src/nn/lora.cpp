#include "headlight/nn/lora.h"

#include <cmath>

#include "headlight/nn/linear.h"

namespace headlight {
namespace {

// Streams of the dropouts: those of a model's layers are small numbers.
constexpr std::uint64_t kFirstDropout = std::uint64_t{1} << 32;

}  // namespace

double LoraOptions::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rslora ? std::sqrt(r) : r);
}

void add_lora(Module& model, const std::vector<LoraPlace>& places, const LoraOptions& options,
              const RandomStream& random) {
  require(options.rank > 0 && options.dropout >= 0 && options.dropout < 1,
          "[add_lora] expected a positive rank and a dropout from 0 to below 1, got ", options.rank,
          " and ", options.dropout);
  for (auto& [name, parameter] : model.parameters()) {
    parameter.set_requires_grad(false);
  }
  std::uint64_t number = 0;
  for (const LoraPlace& place : places) {
    auto* linear = dynamic_cast<Linear*>(model.find_part(place.matrix));
    require(linear != nullptr, "[add_lora] the model has no matrix ", place.matrix);
    require(place.first_row >= 0 && place.rows > 0 &&
                place.first_row + place.rows <= linear->weight.size(0),
            "[add_lora] ", place.matrix, " ", linear->weight.shape(), " has no rows ",
            place.first_row, " to ", place.first_row + place.rows - 1);
    const Index inputs = linear->weight.size(1);
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    const DType dtype = linear->weight.dtype();
    linear->add_update(
        place.name,
        {.a = random_uniform({options.rank, inputs}, random.fork(number), -bound, bound, dtype),
         .b = Tensor::zeros({place.rows, options.rank}, dtype),
         .first_row = place.first_row,
         .scale = options.scale()},
        options.dropout, kFirstDropout + number);
    ++number;
  }
}

}  // namespace headlight
