#include "base/json.h"
#include "formats/token_settings.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/storage/file_writer.h"

namespace headlight {

void write_tokenizer_config(const std::filesystem::path& directory, const Tokenizer& tokenizer,
                            std::optional<Index> context_length) {
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  const auto add = [&](const char* key, std::optional<std::int32_t> id) {
    if (id) {
      config[key] = tokenizer.special_name(*id);
    }
  };
  add("bos_token", tokenizer.begin_token());
  add("eos_token", tokenizer.end_token());
  add("pad_token", tokenizer.padding());
  add("mask_token", tokenizer.mask_token());
  if (context_length) {
    config["model_max_length"] = *context_length;
  }
  config["clean_up_tokenization_spaces"] = false;
  if (splits_special_tokens(tokenizer)) {
    config[kSplitSpecial] = true;
  }
  const ChatTemplates::ByName& templates = tokenizer.chat_template().by_name();
  const std::string* main = tokenizer.chat_template().find(ChatTemplates::kDefault);
  if (templates.size() == 1 && main != nullptr) {
    config["chat_template"] = *main;
  } else if (!templates.empty()) {
    config["chat_template"] = json_list(templates, [](const auto& one) {
      return Json{{"name", one.first}, {"template", one.second}};
    });
  }
  write_file(directory / "tokenizer_config.json", config.dump(2) + "\n");
}

void write_generation_config(const std::filesystem::path& directory, const Tokenizer& tokenizer) {
  write_file(directory / "generation_config.json", token_id_keys(tokenizer).dump(2) + "\n");
}

}  // namespace headlight
