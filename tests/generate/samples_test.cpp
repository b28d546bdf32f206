#include "generate/results.h"
#include "support/test.h"

namespace generate_samples_test {
GenerateOptions drawing(Index count) {
  GenerateOptions options{.max_new_tokens = count};
  options.sampling.top_k = 40;
  options.sampling.repetition_penalty = 1.1;
  return options;
}

// Checks that each of several samples equals the one generated alone.
void check_samples(Decoder& decoder, const std::string& prompt, GenerateOptions options,
                   Index count) {
  const auto together = generate_samples(decoder, ByteTokenizer(), prompt, options, count);
  REQUIRE(static_cast<Index>(together.size()) == count);
  for (const GenerateResult& result : together) {
    check_same(result, generate(decoder, ByteTokenizer(), prompt, options));
    ++options.sample;
  }
}

TEST_CASE("more samples than fit in one batch are all generated") {
  const auto model = lively_model(257, 16, 1);
  Decoder decoder(*model);
  GenerateOptions later = drawing(5);
  later.sample = 3;
  check_samples(decoder, "q", later, 37);
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
