// Trains a tiny model with nothing but the installed library: an example of docs/library.md.
#include <headlight/headlight.h>

#include <iostream>

int main() {
  using namespace headlight;
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "the cat sat on the mat. ";
  }
  const CharTokenizer tokenizer = build_char_tokenizer(text);
  const TokenDataset dataset = stream_dataset(tokenizer.encode(text));
  Batcher batcher(dataset, {.batch_size = 8, .block_size = 32});

  Gpt model({.vocab_size = tokenizer.vocab_size(),
             .block_size = 32,
             .n_layer = 2,
             .n_head = 2,
             .n_embd = 64});
  AdamW optimizer(model.parameters());
  double loss_value = 0;
  for (Index step = 0; step < 60; ++step) {
    model.zero_grad();
    const Tensor loss = model.loss(batcher.batch(step));
    backward(loss);
    const double norm = gradient_norm(model.parameters());
    optimizer.step(3e-3, clip_scale(norm, 1.0));
    loss_value = loss.item();
  }
  const GenerateResult result = generate(model, tokenizer, "the cat ",
                                         {.max_new_tokens = 40, .sampling = {.temperature = 0}});
  std::cout << "loss " << loss_value << "\nthe cat " << result.text << "\n";
  return loss_value < 1.0 ? 0 : 1;
}
