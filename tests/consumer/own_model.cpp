// A model that Headlight does not have, trained, saved, read again and asked for text by its tools:
// the example of the README.
#include <headlight/generate/generator.h>
#include <headlight/io/model_directory.h>
#include <headlight/nn/language_model.h>
#include <headlight/nn/layers.h>
#include <headlight/text/char_tokenizer.h>
#include <headlight/train/checkpoint.h>
#include <headlight/train/trainer.h>

#include <cmath>
#include <filesystem>
#include <iostream>

using namespace headlight;

// The next character from the last one alone, through an inner layer.
class Bigrams : public LanguageModel {
 public:
  Bigrams(Index vocabulary, Index width)
      : vocabulary_(vocabulary),
        embedding_({.count = vocabulary, .width = width}, {1, 1}),
        head_({.inputs = width, .outputs = vocabulary}, {1, 2}) {
    register_module("embedding", embedding_);
    register_module("head", head_);
  }

  Index vocab_size() const override { return vocabulary_; }
  Index block_size() const override { return 32; }
  std::string model_type() const override { return "bigrams"; }
  Tensor logits(const Batch& batch, const ForwardContext&) const override {
    return head_.forward(relu(embedding_.forward(batch.tokens)));
  }

 private:
  Index vocabulary_;
  Embedding embedding_;
  Linear head_;
};

int main() {
  const std::string text = "abcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabd";
  const CharTokenizer tokenizer = build_char_tokenizer(text);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(text));
  TrainConfig config;
  config.batch_size = 4;
  config.block_size = 12;
  config.learning_rate = 1e-2;
  config.warmup_iters = 0;
  config.max_iters = 200;

  Bigrams model(tokenizer.vocab_size(), 16);
  Trainer trainer(config, model, dataset);
  double loss = 0;
  while (trainer.iteration() < config.max_iters) {
    loss = trainer.step().loss;
  }
  const std::filesystem::path run = std::filesystem::temp_directory_path() / "bigrams";
  save_checkpoint(run, {model, tokenizer, trainer.optimizer(), {.iteration = 200}}, {});

  Bigrams again(tokenizer.vocab_size(), 16);
  load_parameters(run, again);
  std::filesystem::remove_all(run);
  const GenerateResult result = generate(again, tokenizer, "c", {.max_new_tokens = 8});
  // After b come c and d in turn, which the last character cannot tell: log(2) / 3 stays.
  std::cout << "loss " << loss << "\nc" << result.text << "\n";
  return std::abs(loss - std::log(2.0) / 3) < 0.1 && result.text.starts_with("ab") ? 0 : 1;
}
