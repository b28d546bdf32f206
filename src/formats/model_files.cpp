#include "formats/model_files.h"

#include <filesystem>

#include "base/json.h"
#include "formats/families/families.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/files/file_writer.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/io/safetensors.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// Returns config.json for a model other than Gpt.
std::string config_json(const LanguageModel& model) {
  return Json{{"model_type", model.model_type()},
              {"vocab_size", model.vocab_size()},
              {"block_size", model.block_size()}}
             .dump(2) +
         "\n";
}

}  // namespace

NamedTensors saved_tensors(const LanguageModel& model) {
  NamedTensors all = model.parameters();
  for (auto& buffer : model.buffers()) {
    all.push_back(std::move(buffer));
  }
  return all;
}

void write_tokenizer_files(const fs::path& directory, const LanguageModel& model,
                           const Tokenizer& tokenizer) {
  write_file(directory / "tokenizer.json", to_tokenizer_json(tokenizer));
  write_tokenizer_config(directory, tokenizer, model.block_size());
  write_generation_config(directory, tokenizer);
}

void write_model_files(const fs::path& directory, const LanguageModel& model,
                       const Tokenizer& tokenizer, StoredFloats floats) {
  const auto* gpt = dynamic_cast<const Gpt*>(&model);
  const ModelFamily* family = gpt == nullptr ? nullptr : &family_for(gpt->config());
  write_file(directory / "config.json",
             gpt == nullptr ? config_json(model)
                            : family_config_json(*family, gpt->config(), tokenizer, floats));
  write_tokenizer_files(directory, model, tokenizer);
  write_safetensors(directory / "model.safetensors",
                    gpt == nullptr ? saved_tensors(model) : stored_tensors(*gpt, family->layout),
                    {{"format", "pt"}}, floats);
}

}  // namespace headlight
