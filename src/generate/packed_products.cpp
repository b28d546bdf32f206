#include "generate/packed_products.h"

#include <algorithm>

#include "headlight/ops/layout.h"
#include "kernels/parallel.h"

namespace headlight {
namespace {

// Maximum number of panels for which a section of columns fits into the second-level cache while
// all rows of x use it. Each chunk rounds x again, so that few large chunks are the fastest.
constexpr Index kMostPanels = 24;

Index panels_of_chunk(Index panels) {
  return std::clamp<Index>(divided_up(panels, kernels::max_threads()), 1, kMostPanels);
}

}  // namespace

PackedProducts::PackedProducts(const DecoderModel& model) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const DecoderLayer& layer = model.layers[i];
    for (const auto& [part, matrix] :
         {std::pair{Part::query_key_value, &layer.attention_in},
          std::pair{Part::attention_output, &layer.attention_out},
          std::pair{Part::mlp_in, &layer.mlp_in}, std::pair{Part::mlp_gate, &layer.mlp_gate},
          std::pair{Part::mlp_out, &layer.mlp_out}}) {
      if (matrix->rows() > 0) {
        matrices_[model.gpt->weight(part, static_cast<Index>(i)).data<float>()] = matrix;
      }
    }
  }
}

Tensor PackedProducts::multiply(const Linear& linear, const Tensor& x) const {
  const PackedMatrix& matrix = *matrices_.at(linear.weight.data<float>());
  Tensor rows = to_contiguous(x);  // [N, inputs]
  Tensor padded =
      Tensor::empty({x.size(0), matrix.panels() * kernels::kPanelRows});  // [N, outputs]
  const StepVectors from{rows.data<float>(), rows.size(1)};
  const StepVectors to{padded.data<float>(), padded.size(1)};
  kernels::parallel_for(
      matrix.panels(), panels_of_chunk(matrix.panels()),
      [&](Index begin, Index end) { matrix.multiply(begin, end, x.size(0), from, to); });
  return to_contiguous(slice(padded, 1, 0, matrix.rows()));
}

}  // namespace headlight
