// Steers a model from outside the library: adds the difference of its activations on two texts to
// the residual stream while it generates.
#include <headlight/formats/arrays/npz.h>
#include <headlight/generate/generator.h>
#include <headlight/interpret/activations/activation_cache.h>
#include <headlight/interpret/interventions/interventions.h>
#include <headlight/ops/elementwise.h>
#include <headlight/ops/layout.h>
#include <headlight/tokenizers/char_tokenizer.h>

#include <iostream>

using namespace headlight;

int main() {
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefgh ");
  Gpt model({.vocab_size = tokenizer.vocab_size(),
             .block_size = 32,
             .n_layer = 2,
             .n_head = 2,
             .n_embd = 16});
  const ActivationContexts texts(tokenizer, {"a bad cab", "a hedge"}, model.block_size());
  const NamedTensors cache = cache_activations(
      model, texts, {.points = {parse_point("points", "resid_post.0")}, .positions = {true}});
  const Tensor& rows = cache.front().second;  // [2, C], of the last token of each text
  write_npz("steering.npz", {{"v", slice(rows, 0, 0, 1) - slice(rows, 0, 1, 2)}});

  const auto continued = [&] {
    return generate(model, tokenizer, "a ", {.max_new_tokens = 20, .sampling = {.temperature = 0}})
        .text;
  };
  const std::string plain = continued();
  model.attach(std::make_shared<Interventions>(
      model, parse_changes("add resid_post.0 steering.npz:v*20"), Interventions::Options{}));
  const std::string steered = continued();
  std::cout << cache.front().first << "\nplain    " << plain << "\nsteered  " << steered << "\n";
  return plain != steered ? 0 : 1;
}
