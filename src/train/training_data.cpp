#include "train/training_data.h"

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

std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, const std::string& text) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (config.tokenizer == "byte") {
    tokenizer = std::make_unique<ByteTokenizer>();
  } else {
    tokenizer = std::make_unique<CharTokenizer>(build_char_tokenizer(text));
  }
  tokenizer->set_prepends_end_of_text(config.documents != "none");
  return tokenizer;
}

}  // namespace

TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
  require(!config.data.empty(), "data: expected a text file to train on (--data FILE)");
  const std::string text = read_text_file(config.data);
  TrainingData result;
  result.tokenizer = tokenizer != nullptr ? std::move(tokenizer) : make_tokenizer(config, text);
  TokenDataset whole = encode(text, config.data, config, *result.tokenizer);
  if (config.validation_data.empty()) {
    DatasetSplit split = split_dataset(std::move(whole), config.validation_fraction);
    result.train = std::move(split.train);
    result.validation = std::move(split.validation);
  } else {
    result.train = std::move(whole);
    result.validation = encode(read_text_file(config.validation_data), config.validation_data,
                               config, *result.tokenizer);
  }
  return result;
}

}  // namespace headlight
