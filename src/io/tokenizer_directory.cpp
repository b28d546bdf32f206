#include "headlight/io/tokenizer_directory.h"

#include "base/json.h"
#include "base/printable.h"
#include "files/input_file.h"
#include "headlight/base/error.h"
#include "headlight/files/file_writer.h"
#include "headlight/io/chat_template.h"
#include "headlight/io/nanogpt_vocabulary.h"
#include "headlight/io/run_layout.h"
#include "headlight/text/tokenizer_file.h"
#include "io/formats/gguf/gguf_vocabulary.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestFile = Index{1} << 28;  // bytes

// The token that ends a text by the tokenizer_config.json beside a tokenizer.json; "" where that
// does not say.
std::string end_name_beside(const fs::path& tokenizer) {
  const fs::path path = tokenizer.parent_path() / "tokenizer_config.json";
  if (!fs::is_regular_file(path)) {
    return "";
  }
  const Json config = try_parse_json(read_whole_file(path, kLargestFile)).value_or(Json());
  const Json* token = config.find("eos_token");
  if (token != nullptr && token->is_object()) {
    token = token->find("content");
  }
  return token != nullptr && token->is_string() ? token->text() : "";
}

// The tokenizer in a folder or a GGUF file, without its chat template.
std::unique_ptr<Tokenizer> load_vocabulary(const fs::path& directory) {
  if (is_gguf_file(directory)) {
    return read_gguf_vocabulary(GgufFile(directory));
  }
  const auto whole = directory / "tokenizer.json";
  const auto vocabulary = directory / "vocab.json";
  if (fs::exists(whole) || !fs::exists(vocabulary)) {
    return parse_tokenizer_json(read_whole_file(whole, kLargestFile), shown(whole),
                                end_name_beside(whole));
  }
  return parse_gpt2_vocabulary(read_whole_file(vocabulary, kLargestFile),
                               read_whole_file(directory / "merges.txt", kLargestFile),
                               shown(directory));
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& directory) {
  std::unique_ptr<Tokenizer> tokenizer = load_vocabulary(directory);
  tokenizer->set_chat_template(read_chat_template(directory));
  return tokenizer;
}

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& path) {
  require(fs::exists(path), shown(path), ": no such file or directory");
  if (path.extension() == ".pkl") {
    return std::make_unique<CharTokenizer>(read_nanogpt_vocabulary(path));
  }
  if (is_gguf_file(path)) {
    return load_tokenizer(path);
  }
  if (!fs::is_directory(path)) {
    return parse_tokenizer_json(read_whole_file(path, kLargestFile), shown(path),
                                end_name_beside(path));
  }
  if (const std::optional<fs::path> folder = tokenizer_in(path)) {
    return load_tokenizer(*folder);
  }
  if (auto tokenizer = vocabulary_beside(path)) {
    return tokenizer;
  }
  fail(shown(path),
       ": no tokenizer here: expected tokenizer.json, vocab.json and merges.txt, or meta.pkl");
}

void require_no_model(const fs::path& directory) {
  require(!model_in(directory), shown(directory),
          ": holds a model, whose tokenizer must stay; choose another folder");
}

void save_tokenizer(const fs::path& directory, const Tokenizer& tokenizer) {
  require_no_model(directory);
  make_folder(directory);
  write_file(directory / "tokenizer.json", to_tokenizer_json(tokenizer));
  write_tokenizer_config(directory, tokenizer);
}

void write_tokenizer_config(const fs::path& directory, const Tokenizer& tokenizer,
                            std::optional<Index> context_length) {
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"bos_token", tokenizer.special_name(tokenizer.begin_of_text())},
              {"eos_token", tokenizer.special_name(tokenizer.end_of_text())}};
  if (context_length) {
    config["model_max_length"] = *context_length;
  }
  config["clean_up_tokenization_spaces"] = false;
  if (!tokenizer.chat_template().empty()) {
    config["chat_template"] = tokenizer.chat_template();
  }
  write_file(directory / "tokenizer_config.json", config.dump(2) + "\n");
}

}  // namespace headlight
