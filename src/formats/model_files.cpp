#include "formats/model_files.h"

#include <filesystem>

#include "base/json.h"
#include "base/strings/printable.h"
#include "formats/families/families.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/storage/file_writer.h"
#include "headlight/tokenizers/bpe_pattern.h"

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

// Returns whether the tokenizer splits and normalises texts as Qwen 2's does.
bool has_qwen_steps(const Tokenizer& tokenizer) {
  const Json file = parse_json(to_tokenizer_json(tokenizer), "tokenizer.json");
  const Json before = file.value("pre_tokenizer", Json()).value("pretokenizers", Json());
  if (!before.is_array() || before.size() != 2) {
    return false;
  }
  const auto has = [](const Json& step, const char* key, const Json& value) {
    return step.value(key, Json()) == value;
  };
  return has(file.value("model", Json()), "type", "BPE") &&
         has(file.value("normalizer", Json()), "type", "NFC") &&
         has(before[0], "pattern", Json{{"Regex", kQwen2Pattern}}) &&
         has(before[0], "behavior", "Isolated") && has(before[0], "invert", false) &&
         has(before[1], "type", "ByteLevel") && has(before[1], "use_regex", false) &&
         has(before[1], "add_prefix_space", false);
}

bool is_qwen2(const ModelFamily& family) { return family.type == "qwen2"; }

// Returns the family that a model with this tokenizer is written as. For Qwen 2, transformers 5
// takes only vocabulary, merges and post-processor from tokenizer.json: other tokenizers need
// another family.
const ModelFamily& family_with(const GptConfig& config, const Tokenizer& tokenizer) {
  const ModelFamily& family = family_for(config);
  const ModelFamily& other = family_of_type("seed_oss");
  return is_qwen2(family) && refusal_of(other, config).keys == 0 && !has_qwen_steps(tokenizer)
             ? other
             : family;
}

}  // namespace

std::string tokenizer_warning(const GptConfig& config, const Tokenizer& tokenizer) {
  return is_qwen2(family_with(config, tokenizer)) && !has_qwen_steps(tokenizer)
             ? "AutoTokenizer of transformers 5 gives other token ids, because it builds Qwen 2's "
               "tokenizer for this model_type; use PreTrainedTokenizerFast.from_pretrained there"
             : "";
}

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

void write_model_files(const fs::path& directory, const WrittenModel& written,
                       const Tokenizer& tokenizer, StoredFloats floats,
                       const std::function<void(double)>& progress) {
  const auto& [model, gpt] = written;
  const ModelFamily* family = gpt == nullptr ? nullptr : &family_with(gpt->config(), tokenizer);
  require_finite(model.parameters(), shown(directory) + ": ");
  write_file(directory / "config.json",
             gpt == nullptr ? config_json(model)
                            : family_config_json(*family, gpt->config(), tokenizer, floats));
  write_tokenizer_files(directory, model, tokenizer);
  write_safetensors(directory / "model.safetensors",
                    gpt == nullptr ? saved_tensors(model) : stored_tensors(*gpt, family->layout),
                    {{"format", "pt"}}, floats, progress);
}

}  // namespace headlight
