#include "generate/packed_products.h"

namespace headlight {
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
  return matrices_.at(linear.weight.data<float>())->product(x);
}

}  // namespace headlight
