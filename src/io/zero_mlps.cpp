#include <map>

#include "headlight/io/model_directory.h"

namespace headlight {

std::unique_ptr<Gpt> with_zero_mlps(const Gpt& model) {
  GptConfig config = model.config();
  require(config.mlp || config.norm == NormPosition::pre,
          "[with_zero_mlps] expected norm = pre: a norm behind an MLP changes what passes");
  config.mlp = true;
  // A blank model has zeros in its matrices and norms that neither scale nor shift.
  std::unique_ptr<Gpt> result = Gpt::blank(config, model.dtype());
  std::map<std::string, Tensor> into;
  for (const auto& [name, tensor] : result->parameters()) {
    into.emplace(name, tensor);
  }
  for (const auto& [name, tensor] : model.parameters()) {
    into.at(name).copy_from(tensor);
  }
  return result;
}

}  // namespace headlight
