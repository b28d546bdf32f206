#include "cli/lab/model_start.h"

#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/optim/clip.h"

namespace headlight::cli::lab {

void start_like_xavier(const Gpt& model, std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (auto [weight, tensor] : model.weights()) {
    if (tensor.rank() != 2) {
      continue;
    }
    const RandomStream random = RandomStream{seed, 7}.fork(++stream);
    if (weight.part == Part::token_embedding || weight.part == Part::position_embedding) {
      tensor.copy_from(random_normal(tensor.shape(), random, 0, std::sqrt(0.5)));
      continue;
    }
    const bool joined = weight.part == Part::query_key_value;
    const Index outputs = tensor.size(0) / (joined ? 3 : 1);
    const double bound = std::sqrt(6.0 / static_cast<double>(outputs + tensor.size(1)));
    tensor.copy_from(random_uniform(tensor.shape(), random, -bound, bound));
  }
}

std::vector<double> layer_gradients(Gpt& model, const Batch& batch) {
  model.zero_grad();
  backward(model.loss(batch, {.training = true}));
  std::vector<double> norms;
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const std::string prefix = concat_text("h.", layer, ".");
    NamedTensors matrices;
    for (const auto& [name, parameter] : model.parameters()) {
      if (name.rfind(prefix, 0) == 0 && parameter.rank() == 2) {
        matrices.emplace_back(name, parameter);
      }
    }
    norms.push_back(gradient_norm(matrices));
  }
  return norms;
}

}  // namespace headlight::cli::lab
