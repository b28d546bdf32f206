#include "page/page_model.h"

#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/nn/module.h"
#include "headlight/tensor/storage.h"

namespace headlight::wasm {

LoadedModel load_page_model(const std::filesystem::path& path) {
  const GgufFile file(path);
  auto [architecture, config] = read_gguf_model(file);
  ModelWeights weights(gguf_weights(file), architecture->layout);
  weights.infer_missing_fields(config);
  weights.check(config);
  // Integers stay packed: they take an eighth of the memory, and products of them are faster.
  const bool is_packed = weights.has_integers();
  auto model = is_packed
                   ? std::make_unique<Gpt>(
                         config, Gpt::Initialisations{Initialisation::none, Initialisation::none},
                         DType::float32)
                   : Gpt::blank(config, DType::float32);
  is_packed ? weights.pack_into(*model, MatrixForm::stored, false) : weights.read_into(*model);
  LoadedModel loaded{
      .model = std::move(model), .tokenizer = read_gguf_vocabulary(file), .directory = path};
  release_unused_storage();  // temporary memory of single tensors
  return loaded;
}

}  // namespace headlight::wasm
