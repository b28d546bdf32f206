#include "support/test.h"

namespace generate_samples_test {
GenerateOptions drawing(Index count) {
  GenerateOptions options{.max_new_tokens = count};
  options.sampling.top_k = 40;
  options.sampling.repetition_penalty = 1.1;
  return options;
}

// Checks that each of several samples equals the one generated alone.
void check_same(Decoder& decoder, const std::string& prompt, GenerateOptions options, Index count) {
  const auto together = generate_samples(decoder, ByteTokenizer(), prompt, options, count);
  REQUIRE(static_cast<Index>(together.size()) == count);
  for (const GenerateResult& result : together) {
    const GenerateResult alone = generate(decoder, ByteTokenizer(), prompt, options);
    CHECK(result.tokens == alone.tokens);
    CHECK(result.text == alone.text);
    CHECK(result.finish_reason == alone.finish_reason);
    CHECK(result.prompt_tokens == alone.prompt_tokens);
    CHECK(result.prompt_was_cut == alone.prompt_was_cut);
    ++options.sample;
  }
}

TEST_CASE("samples generated together equal those generated one by one") {
  const auto model = lively_model(257, 32);
  for (const WeightFormat format :
       {WeightFormat::float32, WeightFormat::bfloat16, WeightFormat::int8}) {
    Decoder decoder(*model, format);
    GenerateOptions options = drawing(100);  // long enough to cut the window more than once
    options.ignore_end_of_text = true;
    check_same(decoder, "prompt", options, 5);
    check_same(decoder, std::string(40, 'x'), options, 2);
    options.sample = 3;
    check_same(decoder, "", options, 2);
    options.use_cache = false;
    options.max_new_tokens = 20;
    check_same(decoder, "prompt", options, 3);
  }
}

TEST_CASE("samples that end early do not change the others") {
  const auto model = lively_model(257, 64);
  Decoder decoder(*model);
  GenerateOptions options = drawing(60);
  options.sampling.temperature = 2;
  options.stop = {"\n", "e", "a"};
  const auto results = generate_samples(decoder, ByteTokenizer(), "abc", options, 12);
  std::size_t shortest = 60;
  std::size_t longest = 0;
  for (const GenerateResult& result : results) {
    shortest = std::min(shortest, result.tokens.size());
    longest = std::max(longest, result.tokens.size());
  }
  CHECK(shortest < longest);
  check_same(decoder, "abc", options, 12);
}

TEST_CASE("more samples than fit in one batch are all generated") {
  const auto model = lively_model(257, 16, 1);
  Decoder decoder(*model);
  check_same(decoder, "q", drawing(5), 37);
  CHECK(generate_samples(decoder, ByteTokenizer(), "q", drawing(5), 0).empty());
  CHECK(generate_samples(decoder, ByteTokenizer(), "q", drawing(0), 2)[1].tokens.empty());
  CHECK_THROWS_WITH(generate_samples(decoder, ByteTokenizer(), "q", drawing(5), -1),
                    "num_samples: expected a number from 0, got -1");
}

TEST_CASE("the speed of a text leaves out the reading of its prompt") {
  GenerateResult result;
  CHECK(result.tokens_per_second() == 0);
  result.tokens = {1, 2, 3, 4, 5};
  result.seconds_to_first_token = 10;
  result.seconds = 12;
  CHECK(result.tokens_per_second() == 2);
  result.tokens = {1};
  result.seconds = 10;
  CHECK(result.tokens_per_second() == 0.1);
}
}  // namespace generate_samples_test
