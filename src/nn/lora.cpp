#include "headlight/nn/lora.h"

#include <algorithm>
#include <cmath>

#include "headlight/nn/linear.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

// Streams of the dropouts: those of a model's layers are small numbers.
constexpr std::uint64_t kFirstDropout = std::uint64_t{1} << 32;

// Returns the first values of an update.
LowRankUpdate first_update(const LoraPlace& place, const LoraOptions& options, const Linear& linear,
                           const RandomStream& random) {
  LoraOptions own = options;
  own.rank = place.rank.value_or(options.rank);
  own.alpha = place.alpha.value_or(options.alpha);
  const Index inputs = linear.weight.size(1);
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const DType dtype = linear.weight.dtype();
  LowRankUpdate update{.a = random_uniform({own.rank, inputs}, random, -bound, bound, dtype),
                       .b = Tensor::zeros({place.rows, own.rank}, dtype),
                       .first_row = place.first_row,
                       .scale = own.scale()};
  if (options.dora) {
    const Tensor rows =
        slice(linear.full_weight().detach(), 0, place.first_row, place.first_row + place.rows);
    update.lengths = row_lengths(rows);
    const std::vector<double> lengths = update.lengths.to_vector();
    require(std::ranges::count(lengths, 0.0) == 0, "[add_lora] ", place.matrix, ".weight, ",
            place.name, ": has rows of zeros, which DoRA cannot scale; train LoRA without it");
  }
  return update;
}

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
    linear->add_update(place.name, first_update(place, options, *linear, random.fork(number)),
                       options.dropout, kFirstDropout + number);
    ++number;
  }
}

}  // namespace headlight
