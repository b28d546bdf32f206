#pragma once

#include "support/test.h"

namespace headlight::test {

// Checks that two texts are the same bit for bit, with their ends and log-probabilities.
inline void check_same(const GenerateResult& a, const GenerateResult& b) {
  CHECK(a.tokens == b.tokens);
  CHECK(a.text == b.text);
  CHECK(a.finish_reason == b.finish_reason);
  CHECK(a.prompt_tokens == b.prompt_tokens);
  CHECK(a.prompt_was_cut == b.prompt_was_cut);
  REQUIRE(a.choices.size() == b.choices.size());
  for (std::size_t i = 0; i < a.choices.size(); ++i) {
    CHECK(a.choices[i].log_probability == b.choices[i].log_probability);
  }
}

// Runs an engine until all its texts have ended.
inline void finish(Engine& engine) {
  while (engine.step()) {
  }
}

// The model, tokenizer and decoder of an engine. A base of ByteEngine: they are made before it.
struct EngineParts {
  explicit EngineParts(Index block_size) : model(lively_model(257, block_size)), decoder(*model) {}

  std::unique_ptr<Gpt> model;
  ByteTokenizer tokenizer;
  Decoder decoder;
};

// An engine of a lively model whose tokens are bytes.
class ByteEngine : public EngineParts, public Engine {
 public:
  explicit ByteEngine(Index block_size, const EngineOptions& options = {})
      : EngineParts(block_size), Engine(decoder, tokenizer, options) {}
};

// Returns a request that stores its result.
inline Request request_for(std::vector<std::int32_t> prompt, GenerateOptions options,
                           GenerateResult& result) {
  return {.prompt = std::move(prompt),
          .options = std::move(options),
          .on_end = [&result](Index, GenerateResult end) { result = std::move(end); }};
}

}  // namespace headlight::test
