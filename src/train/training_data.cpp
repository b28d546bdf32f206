#include "train/training_data.h"

#include <filesystem>

#include "headlight/data/token_file.h"
#include "headlight/text/byte_tokenizer.h"
#include "headlight/text/char_tokenizer.h"
#include "headlight/text/text_file.h"

namespace headlight {
namespace {

TokenDataset encode(const std::string& text, const std::string& path, const TrainConfig& config,
                    const Tokenizer& tokenizer) {
  try {
    return encode_dataset(
        text, config.document_split(),
        [&](std::string_view part) { return tokenizer.encode(part); }, tokenizer.end_of_text());
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

TokenDataset read_ids(const std::filesystem::path& path, const TrainConfig& config,
                      const Tokenizer& tokenizer) {
  require(config.documents == "none", "documents: ", path.string(),
          " holds one stream of token ids, expected none, got ", config.documents);
  return stream_dataset(read_token_file(path, tokenizer.vocab_size()));
}

std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, const std::string& text) {
  if (config.tokenizer == "byte") {
    return std::make_unique<ByteTokenizer>();
  }
  return std::make_unique<CharTokenizer>(build_char_tokenizer(text));
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
void require_tokenizer_for_ids(const TrainConfig& config, const std::filesystem::path& path) {
  require(
      config.tokenizer != "char", "tokenizer: ", path.string(),
      " holds token ids, from which no char tokenizer can be made; name the tokenizer that made "
      "them, or start from its model with init_from");
}

TokenDataset read_data(const std::filesystem::path& path, const TrainConfig& config,
                       const Tokenizer& tokenizer) {
  return is_token_file(path) ? read_ids(path, config, tokenizer)
                             : encode(read_text_file(path), path.string(), config, tokenizer);
}

}  // namespace

TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
  const DataPaths paths = data_paths(config);
  TrainingData result;
  TokenDataset whole;
  if (is_token_file(paths.train)) {
    if (tokenizer == nullptr) {
      require_tokenizer_for_ids(config, paths.train);
      tokenizer = make_tokenizer(config, "");
    }
    whole = read_ids(paths.train, config, *tokenizer);
  } else {
    const std::string text = read_text_file(paths.train);
    tokenizer = tokenizer != nullptr ? std::move(tokenizer) : make_tokenizer(config, text);
    whole = encode(text, paths.train.string(), config, *tokenizer);
  }
  if (paths.validation.empty()) {
    DatasetSplit split = split_dataset(std::move(whole), config.validation_fraction);
    result.train = std::move(split.train);
    result.validation = std::move(split.validation);
  } else {
    result.train = std::move(whole);
    result.validation = read_data(paths.validation, config, *tokenizer);
  }
  tokenizer->set_prepends_end_of_text(config.documents != "none");
  result.tokenizer = std::move(tokenizer);
  return result;
}

}  // namespace headlight
