#pragma once

#include <memory>
#include <vector>

#include "headlight/generate/generator.h"
#include "headlight/text/byte_tokenizer.h"

namespace headlight::test {

// A model whose next token depends only on the position: after position p, script[p] is by far the
// most likely. block_size is the length of the script.
inline std::unique_ptr<Gpt> scripted_model(Index vocabulary,
                                           const std::vector<std::int32_t>& script) {
  GptConfig config;
  config.vocab_size = vocabulary;
  config.block_size = static_cast<Index>(script.size());
  config.n_layer = 1;
  config.n_head = 1;
  config.n_embd = 2 * config.block_size;
  config.tie_weights = false;
  auto model = std::make_unique<Gpt>(config);
  for (auto& [name, parameter] : model->parameters()) {
    if (name == "wpe.weight" || name == "lm_head.weight" || name == "wte.weight" ||
        name == "h.0.attn.c_proj.weight" || name == "h.0.mlp.c_proj.weight") {
      parameter.fill(0);
    }
    // The embedding of position p is the unit vector p, which the head reads. A logit of 100 makes
    // all other tokens impossible at temperature 1.
    for (Index p = 0; p < config.block_size; ++p) {
      if (name == "wpe.weight") {
        parameter.data<float>()[p * config.n_embd + p] = 1;
      } else if (name == "lm_head.weight") {
        const auto id = script[static_cast<std::size_t>(p)];
        parameter.data<float>()[id * config.n_embd + p] = 100;
      }
    }
  }
  return model;
}

// A model with random weights so large that its texts vary even when decoded greedily.
inline std::unique_ptr<Gpt> lively_model(Index vocabulary, Index block_size, Index layers = 2) {
  GptConfig config;
  config.vocab_size = vocabulary;
  config.block_size = block_size;
  config.n_layer = layers;
  config.n_head = 2;
  config.n_embd = 16;
  config.tie_weights = false;
  auto model = std::make_unique<Gpt>(config);
  std::uint64_t number = 0;
  for (auto& [name, parameter] : model->parameters()) {
    if (parameter.rank() >= 2) {
      parameter.copy_from(random_normal(parameter.shape(), RandomStream{5, number++}, 0, 0.5));
    }
  }
  return model;
}

inline std::vector<std::int32_t> byte_ids(std::string_view text) {
  return ByteTokenizer().encode(text);
}

// Returns a script whose text starts after a one-byte prompt.
inline std::vector<std::int32_t> script_of(std::string_view text) {
  std::vector<std::int32_t> script = byte_ids(text);
  script.push_back(ByteTokenizer().end_of_text());
  return script;
}

inline GenerateOptions greedy(Index count) {
  GenerateOptions options;
  options.max_new_tokens = count;
  options.sampling.temperature = 0;
  return options;
}

}  // namespace headlight::test
