#include "headlight/formats/tokenizer_directory.h"

#include "base/json.h"
#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "formats/nanogpt/nanogpt_file.h"
#include "formats/sentencepiece/sentencepiece_tokenizer.h"
#include "formats/token_settings.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"
#include "headlight/datasets/nanogpt_vocabulary.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "storage/input_file.h"
#include "storage/lfs_pointer.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestFile = Index{1} << 28;  // bytes

constexpr const char* kSentencePieceFile = "tokenizer.model";

// Reads SentencePiece's own file.
std::unique_ptr<Tokenizer> read_sentencepiece(const fs::path& file, const TokenSettings& settings) {
  return sentencepiece_tokenizer(read_whole_file(file, kLargestFile), shown(file),
                                 {.added = settings.added_tokens(),
                                  .end_name = settings.name("eos_token"),
                                  .prepends = settings.flag("add_bos_token"),
                                  .appends_end = settings.flag("add_eos_token")});
}

// Reads a tokenizer.json with the tokens that stand beside it.
std::unique_ptr<Tokenizer> read_with_tokens(const fs::path& file, const TokenSettings& settings,
                                            const std::string& end_name) {
  std::string text = read_whole_file(file, kLargestFile);
  const std::string name = shown(file);
  refuse_lfs_pointer(text, name);
  Json root = parse_json(text, name);
  if (settings.complete(shown(parent_folder(file)), root)) {
    text = root.dump(-1, Json::BadUtf8::refused);
  }
  if (settings.flag(kSplitSpecial).value_or(false)) {
    root[kSplitSpecial] = true;
  }
  return read_tokenizer_json(root, text, name, end_name);
}

// Reads a tokenizer.json or, if that is missing, vocab.json and merges.txt, or tokenizer.model.
std::unique_ptr<Tokenizer> read_vocabulary(const fs::path& file, const TokenSettings& settings) {
  const fs::path directory = file.parent_path();
  const std::string end_name = settings.name("eos_token");
  const fs::path vocabulary = directory / "vocab.json";
  const fs::path pieces = directory / kSentencePieceFile;
  if (file == pieces || (!fs::exists(file) && !fs::exists(vocabulary) && fs::exists(pieces))) {
    return read_sentencepiece(pieces, settings);
  }
  if (fs::exists(file) || !fs::exists(vocabulary)) {
    return read_with_tokens(file, settings, end_name);
  }
  const std::string name = shown(directory);
  Json root = gpt2_tokenizer_json(read_whole_file(vocabulary, kLargestFile),
                                  read_whole_file(directory / "merges.txt", kLargestFile), name);
  settings.complete(name, root);
  root["post_processor"] = settings.text_ends(name, root["added_tokens"]);
  return read_gpt2_json(std::move(root), name, end_name,
                        settings.flag(kSplitSpecial).value_or(false));
}

// Loads a tokenizer with the settings beside it.
std::unique_ptr<Tokenizer> read_tokenizer(const fs::path& file) {
  const TokenSettings settings(file.parent_path());
  std::unique_ptr<Tokenizer> tokenizer = read_vocabulary(file, settings);
  settings.apply(*tokenizer);
  return tokenizer;
}

// Returns the meta.pkl of nanoGPT's own folder, data/DATASET/meta.pkl beside the checkpoint's
// folder; an empty path if the name of the data set is not a plain name.
fs::path meta_of_dataset(const fs::path& checkpoint) {
  const std::string dataset = NanoGptFile(checkpoint).dataset();
  const bool is_plain = !dataset.empty() && dataset.find('/') == dataset.npos && dataset != ".." &&
                        dataset.find('\0') == dataset.npos;
  const fs::path folder = fs::absolute(checkpoint).lexically_normal().parent_path();
  return is_plain ? folder.parent_path() / "data" / dataset / "meta.pkl" : fs::path();
}

// Loads the tokenizer of nanoGPT's checkpoint. nanoGPT's characters come without special tokens.
std::unique_ptr<Tokenizer> read_nanogpt_tokenizer(const fs::path& checkpoint) {
  const auto read_characters = [](const fs::path& meta) {
    return std::make_unique<CharTokenizer>(read_nanogpt_vocabulary(meta, SpecialTokens::none));
  };
  const fs::path folder = parent_folder(checkpoint);
  if (fs::exists(folder / "meta.pkl")) {
    return read_characters(folder / "meta.pkl");
  }
  if (tokenizer_in(folder) == folder) {
    return read_tokenizer(folder / "tokenizer.json");
  }
  const fs::path meta = meta_of_dataset(checkpoint);
  require(!meta.empty() && fs::exists(meta), shown(checkpoint),
          ": no tokenizer: put the meta.pkl of its data, or GPT-2's tokenizer.json, beside it");
  return read_characters(meta);
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& directory, const fs::path& base) {
  if (is_torch_file(directory)) {
    return read_nanogpt_tokenizer(directory);
  }
  if (is_adapter(directory) && !tokenizer_in(directory)) {
    return open_tokenizer(base_of_adapter(directory, base));
  }
  return is_gguf_file(directory) ? read_gguf_vocabulary(GgufFile(directory))
                                 : read_tokenizer(directory / "tokenizer.json");
}

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& path, const fs::path& base) {
  require(fs::exists(path), shown(path), ": no such file or directory");
  require_adapter_for(base, model_in(path).value_or(path));
  if (path.extension() == ".pkl") {
    return std::make_unique<CharTokenizer>(read_nanogpt_vocabulary(path));
  }
  if (!fs::is_directory(path)) {
    return is_model_file(path) ? load_tokenizer(path, base) : read_tokenizer(path);
  }
  if (const std::optional<fs::path> folder = tokenizer_in(path)) {
    return load_tokenizer(*folder, base);
  }
  if (is_adapter(path)) {
    return load_tokenizer(path, base);
  }
  if (fs::exists(path / kNanoGptFile)) {
    return load_tokenizer(path / kNanoGptFile);
  }
  if (auto tokenizer = vocabulary_beside(path)) {
    return tokenizer;
  }
  fail(
      shown(path),
      ": no tokenizer here: expected tokenizer.json, vocab.json and merges.txt, tokenizer.model or "
      "meta.pkl");
}

void require_no_model(const fs::path& directory) {
  require(!model_in(directory), shown(directory),
          ": contains a model, whose tokenizer must not be replaced; choose another folder");
}

void save_tokenizer(const fs::path& directory, const Tokenizer& tokenizer) {
  require_no_model(directory);
  make_folder(directory);
  StagedFiles staged(directory);
  write_file(staged.path() / "tokenizer.json", to_tokenizer_json(tokenizer));
  write_tokenizer_config(staged.path(), tokenizer);
  const bool is_in_config = tokenizer.end_token() && tokenizer.stop_tokens().size() == 1;
  if (!is_in_config && !tokenizer.stop_tokens().empty()) {
    write_generation_config(staged.path(), tokenizer);
  }
  staged.commit();
}

}  // namespace headlight
