#include "train/training_data.h"

#include <algorithm>
#include <filesystem>

#include "headlight/io/nanogpt_vocabulary.h"
#include "headlight/io/open_tokenizer.h"
#include "headlight/io/token_file.h"
#include "headlight/tensor/machine.h"
#include "headlight/text/bpe_trainer.h"
#include "headlight/text/byte_tokenizer.h"
#include "headlight/text/char_tokenizer.h"
#include "headlight/text/text_file.h"

namespace headlight {
namespace {

// The system hands out more memory than it has. Bytes and characters are one token each; how many
// others a text has is seen only afterwards.
void require_memory_for_ids(const std::string& text, const std::string& path,
                            const Tokenizer& tokenizer) {
  const bool bytes = tokenizer.kind() == "byte";
  const bool characters = tokenizer.kind() == "char";
  const auto begins_token = [&](char byte) { return bytes || (byte & 0xC0) != 0x80; };
  const Index count =
      bytes || characters ? std::count_if(text.begin(), text.end(), begins_token) : 0;
  const std::string missing = missing_memory(static_cast<double>(count) * sizeof(std::int32_t));
  require(missing.empty(), path, ": its ", count, " tokens do not fit in memory: they take ",
          missing);
}

TokenDataset encode(const std::string& text, const std::string& path, const TrainConfig& config,
                    const Tokenizer& tokenizer) {
  require_memory_for_ids(text, path, tokenizer);
  try {
    return encode_dataset(
        text, config.document_split(),
        [&](std::string_view part) { return tokenizer.encode(part); }, tokenizer.end_of_text());
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

TokenDataset read_ids(const std::filesystem::path& path, const TrainConfig& config,
                      const Tokenizer& tokenizer, std::vector<std::string>& notes) {
  require(config.documents == "none", "documents: ", path.string(),
          " holds one stream of token ids, expected none, got ", config.documents);
  return token_file_dataset(path, tokenizer, parse_token_dtype(config.token_dtype), notes);
}

// Learned from `data` document by document, so that no token spans two of them.
std::unique_ptr<Tokenizer> learn_tokenizer(const TrainConfig& config, const std::string& text,
                                           std::vector<std::string>& notes) {
  require(config.vocab_size > 0,
          "vocab_size: expected the number of tokens to learn, as tokenizer "
          "is bpe, got 0");
  BpeTrainer trainer({.vocab_size = config.vocab_size});
  const DocumentSplitOptions split = config.document_split();
  if (split.mode == DocumentSplit::none) {
    trainer.feed(text);
  } else {
    for (const std::string& document : split_documents(text, split)) {
      trainer.feed(document);
    }
  }
  auto tokenizer = std::make_unique<BpeTokenizer>(trainer.finish());
  std::string note = concat_text("learned ", tokenizer->vocab_size(), " tokens from the text");
  if (tokenizer->vocab_size() < config.vocab_size) {
    note += concat_text(", which ran out of pairs: vocab_size asks for ", config.vocab_size);
  }
  notes.push_back(std::move(note));
  return tokenizer;
}

std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, const std::string& text,
                                          std::vector<std::string>& notes) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (config.tokenizer == "byte") {
    tokenizer = std::make_unique<ByteTokenizer>();
  } else if (config.tokenizer == "char") {
    tokenizer = std::make_unique<CharTokenizer>(build_char_tokenizer(text));
  } else if (config.tokenizer == "bpe") {
    tokenizer = learn_tokenizer(config, text, notes);
  } else {
    tokenizer = open_tokenizer(config.tokenizer);
  }
  return tokenizer;
}

// Where the data of a run lies.
struct DataPaths {
  std::filesystem::path train;
  std::filesystem::path validation;  // empty: a part of the training data
};

// A directory is one that nanoGPT's prepare.py has filled: train.bin and val.bin.
DataPaths data_paths(const TrainConfig& config) {
  require(!config.data.empty(), "data: expected a text or token file to train on (--data FILE)");
  DataPaths paths{.train = config.data, .validation = config.validation_data};
  if (std::filesystem::is_directory(paths.train)) {
    const std::filesystem::path folder = paths.train;
    paths.train = folder / "train.bin";
    require(std::filesystem::exists(paths.train), "data: ", config.data,
            ": a directory must hold train.bin, as nanoGPT's prepare.py writes it");
    if (paths.validation.empty() && std::filesystem::exists(folder / "val.bin")) {
      paths.validation = folder / "val.bin";
    }
  }
  return paths;
}

// Ids say nothing about text: what made them must be known.
std::unique_ptr<Tokenizer> tokenizer_for_ids(const TrainConfig& config,
                                             const std::filesystem::path& path,
                                             std::vector<std::string>& notes) {
  if (config.tokenizer == "char") {
    if (auto tokenizer = vocabulary_beside(path)) {
      notes.push_back("the characters are those of meta.pkl beside " + path.string());
      return tokenizer;
    }
  }
  require(
      config.tokenizer != "char" && config.tokenizer != "bpe", "tokenizer: ", path.string(),
      " holds token ids, from which no ", config.tokenizer,
      " tokenizer can be made, and beside it is no meta.pkl of nanoGPT; name the tokenizer that "
      "made them, or start from its model with init_from");
  return make_tokenizer(config, "", notes);
}

TokenDataset read_data(const std::filesystem::path& path, const TrainConfig& config,
                       const Tokenizer& tokenizer, std::vector<std::string>& notes) {
  return is_token_file(path) ? read_ids(path, config, tokenizer, notes)
                             : encode(read_text_file(path), path.string(), config, tokenizer);
}

}  // namespace

TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
  const DataPaths paths = data_paths(config);
  TrainingData result;
  TokenDataset whole;
  if (is_token_file(paths.train)) {
    if (tokenizer == nullptr) {
      tokenizer = tokenizer_for_ids(config, paths.train, result.notes);
    }
    whole = read_ids(paths.train, config, *tokenizer, result.notes);
  } else {
    const std::string text = read_text_file(paths.train);
    if (tokenizer == nullptr) {
      tokenizer = make_tokenizer(config, text, result.notes);
    }
    whole = encode(text, paths.train.string(), config, *tokenizer);
  }
  if (paths.validation.empty()) {
    DatasetSplit split = split_dataset(std::move(whole), config.validation_fraction);
    result.train = std::move(split.train);
    result.validation = std::move(split.validation);
  } else {
    result.train = std::move(whole);
    result.validation = read_data(paths.validation, config, *tokenizer, result.notes);
  }
  for (const TokenDataset* data : {&result.train, &result.validation}) {
    if (const Index unknown = count_token(*data, tokenizer->unknown()); unknown > 0) {
      result.notes.push_back(concat_text(unknown, " of the ", data->token_count, " tokens to ",
                                         data == &result.train ? "train" : "evaluate",
                                         " on are characters that the tokenizer does not know"));
    }
  }
  tokenizer->set_prepends_end_of_text(config.documents != "none");
  result.tokenizer = std::move(tokenizer);
  return result;
}

}  // namespace headlight
