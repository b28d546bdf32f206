#include "formats/stored_model.h"

#include <memory>

#include "base/strings/printable.h"
#include "formats/gguf/gguf_config.h"
#include "formats/nanogpt/nanogpt_file.h"
#include "headlight/formats/model_directory.h"
#include "storage/input_file.h"

namespace headlight {

namespace fs = std::filesystem;

ModelConfig read_model_config(const fs::path& directory) {
  constexpr Index kLargest = Index{1} << 20;  // bytes
  const fs::path path = directory / "config.json";
  return parse_model_config(read_whole_file(path, kLargest), shown(path));
}

StoredModel open_model(const fs::path& path) {
  if (is_gguf_file(path)) {
    const GgufFile file(path);
    const auto [architecture, config] = read_gguf_model(file);
    return {architecture->name, config, ModelWeights(gguf_weights(file), architecture->layout)};
  }
  if (is_torch_file(path)) {
    const auto file = std::make_shared<const NanoGptFile>(path);
    return {"nanogpt", file->config(), ModelWeights(nanogpt_weights(file), kNanoGptLayout)};
  }
  const ModelConfig read = read_model_config(path);
  std::string keys;
  for (const std::string& key : read.unread) {
    keys += (keys.empty() ? "" : ", ") + escaped(key);
  }
  return {read.family->type, read.config,
          ModelWeights(safetensors_weights(path), read.family->layout),
          keys.empty() ? "" : concat_text(shown(path / "config.json"), ": ignored keys: ", keys)};
}

}  // namespace headlight
