#include "headlight/nn/lora.h"

#include <algorithm>
#include <cmath>

#include "headlight/nn/linear.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

// Streams of the dropouts: a model's layers use small numbers.
constexpr std::uint64_t kFirstDropout = std::uint64_t{1} << 32;

// Returns the first values of an update.
LowRankUpdate first_update(const LoraModule& module, const LoraOptions& options,
                           const Linear& linear, const RandomStream& random) {
  LoraOptions own = options;
  own.rank = module.rank.value_or(options.rank);
  own.alpha = module.alpha.value_or(options.alpha);
  const Index inputs = linear.weight.size(1);
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const DType dtype = linear.weight.dtype();
  LowRankUpdate update{.a = random_uniform({own.rank, inputs}, random, -bound, bound, dtype),
                       .b = Tensor::zeros({module.rows, own.rank}, dtype),
                       .first_row = module.first_row,
                       .scale = own.scale()};
  if (options.dora) {
    const Tensor rows =
        slice(linear.full_weight().detach(), 0, module.first_row, module.first_row + module.rows);
    update.lengths = row_lengths(rows);
    const std::vector<double> lengths = update.lengths.to_vector();
    require(std::ranges::count(lengths, 0.0) == 0, "[add_lora] ", module.matrix, ".weight, ",
            module.name, ": has rows of zeros, which DoRA cannot scale; train LoRA without it");
  }
  return update;
}

}  // namespace

double LoraOptions::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rslora ? std::sqrt(r) : r);
}

void add_lora(Module& model, const std::vector<LoraModule>& modules, const LoraOptions& options,
              const RandomStream& random) {
  require(options.rank > 0 && options.dropout >= 0 && options.dropout < 1,
          "[add_lora] expected a positive rank and a dropout from 0 to below 1, got ", options.rank,
          " and ", options.dropout);
  for (auto& [name, parameter] : model.parameters()) {
    parameter.set_requires_grad(false);
  }
  std::uint64_t number = 0;
  for (const LoraModule& module : modules) {
    auto* linear = dynamic_cast<Linear*>(model.find_part(module.matrix));
    require(linear != nullptr, "[add_lora] the model has no matrix ", module.matrix);
    require(module.first_row >= 0 && module.rows > 0 &&
                module.first_row + module.rows <= linear->weight.size(0),
            "[add_lora] ", module.matrix, " ", linear->weight.shape(), " has no rows ",
            module.first_row, " to ", module.first_row + module.rows - 1);
    linear->add_update(module.name, first_update(module, options, *linear, random.fork(number)),
                       options.dropout, kFirstDropout + number);
    ++number;
  }
}

}  // namespace headlight
