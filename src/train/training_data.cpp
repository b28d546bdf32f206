#include "train/training_data.h"

#include "headlight/io/open_tokenizer.h"
#include "headlight/text/bpe_trainer.h"
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
  tokenizer->set_prepends_end_of_text(config.documents != "none");
  return tokenizer;
}

}  // namespace

TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
  require(!config.data.empty(), "data: expected a text file to train on (--data FILE)");
  const std::string text = read_text_file(config.data);
  TrainingData result;
  result.tokenizer =
      tokenizer != nullptr ? std::move(tokenizer) : make_tokenizer(config, text, result.notes);
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
