// Defines a model class outside the library; trains, saves and loads such a model, generates text
// and ablates heads. Example of docs/library.md.
#include <headlight/formats/model_directory.h>
#include <headlight/generate/generator.h>
#include <headlight/interpret/effects/ablation.h>
#include <headlight/nn/causal_self_attention.h>
#include <headlight/nn/language_model.h>
#include <headlight/runs/checkpoint.h>
#include <headlight/tokenizers/char_tokenizer.h>
#include <headlight/train/trainer.h>

#include <filesystem>
#include <iostream>

using namespace headlight;

constexpr Index kBlock = 12;  // the longest sequence

// A model of one attention layer with two heads. Logits come from the embeddings of character and
// position, plus the layer's output.
class OneLayer : public LanguageModel {
 public:
  OneLayer(Index vocabulary, Index width)
      : vocabulary_(vocabulary),
        tokens_({.count = vocabulary, .width = width}, {1, 1}),
        places_({.count = kBlock, .width = width}, {1, 2}),
        attention_({.width = width, .plan = {.heads = 2}}, {1, 3}),
        head_({.inputs = width, .outputs = vocabulary}, {1, 4}) {
    register_module("tokens", tokens_);
    register_module("places", places_);
    register_module("attention", attention_);
    register_module("head", head_);
  }

  Index vocab_size() const override { return vocabulary_; }
  Index block_size() const override { return kBlock; }
  std::string model_type() const override { return "one_layer"; }
  Tensor logits(const Batch& batch, const ForwardContext& context) const override {
    if (context.hook != nullptr) {
      context.hook->begin(batch);  // Interventions read the positions of tokens
    }
    const Tensor x = tokens_.forward(batch.tokens) + places_.forward(batch.positions);
    return head_.forward(x + attention_.forward(x, batch.offsets, context));
  }
  // Enables the head tools: CausalSelfAttention shows weights and outputs to the context's hooks.
  HeadLayout heads() const override {
    return {.numbers = {{0, 1}}, .head_width = attention_.plan().head_width};
  }

 private:
  Index vocabulary_;
  Embedding tokens_;
  Embedding places_;
  CausalSelfAttention attention_;
  Linear head_;
};

int main() {
  const std::string text = "abcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabd";
  const CharTokenizer tokenizer = build_char_tokenizer(text);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(text));
  TrainConfig config;
  config.batch_size = 4;
  config.gpt.block_size = kBlock;
  config.learning_rate = 1e-2;
  config.warmup_iters = 0;
  config.max_iters = 200;

  OneLayer model(tokenizer.vocab_size(), 16);
  Trainer trainer(config, model, dataset);
  const double loss = trainer.fit().loss;
  const std::filesystem::path run = std::filesystem::temp_directory_path() / "one_layer";
  save_checkpoint(run, {model, tokenizer, trainer.optimizer(), {.iteration = 200}}, {});

  OneLayer again(tokenizer.vocab_size(), 16);
  load_parameters(run, again);
  std::filesystem::remove_all(run);
  const GenerateResult result =
      generate(again, tokenizer, "abcabd", {.max_new_tokens = 6, .sampling = {.temperature = 0}});
  std::cout << "loss " << loss << "\nabcabd" << result.text << "\n";
  const std::vector<PartSet> heads = each_part(again, PartKind::head);
  const AblationResult ablation = ablate(again, dataset, heads);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    std::cout << "without " << heads[i].name << " the loss rises by " << ablation.rises[i].mean
              << "\n";
  }
  // c and d follow b in turn: without attention to earlier tokens the loss stays at log(2) / 3.
  return loss < 0.1 && result.text == "abcabd" ? 0 : 1;
}
