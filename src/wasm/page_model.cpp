#include "wasm/page_model.h"

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
  weights.settle(config);
  weights.check(config);
  LoadedModel loaded{.model = Gpt::blank(config, DType::float32),
                     .tokenizer = read_gguf_vocabulary(file),
                     .directory = path};
  weights.read_into(*loaded.model);
  release_unused_storage();  // temporary memory of single tensors
  return loaded;
}

}  // namespace headlight::wasm
