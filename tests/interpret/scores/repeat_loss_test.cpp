#include "headlight/interpret/scores/repeat_loss.h"
#include "interpret/scores/repeated_tokens.h"
#include "support/test.h"

TEST_CASE("repeated sequences are a start token followed by two equal copies") {
  const RepeatOptions options{
      .sequences = 1, .length = 5, .tokens = {3, 4, 8}, .first = 9, .seed = 4};
  const RepeatedTokens sequence = repeated_tokens(options, 20, 5, 0);
  REQUIRE(sequence.tokens.size() == 11);
  CHECK(sequence.tokens[0] == 9);
  CHECK(sequence.repeat_begin == 6);
  for (std::size_t i = 1; i <= 5; ++i) {
    CHECK(sequence.tokens[i] == sequence.tokens[i + 5]);
    const std::int32_t token = sequence.tokens[i];
    CHECK((token == 3 || token == 4 || token == 8));
  }
  CHECK(repeat_length(options, 11) == 5);
  CHECK(repeat_length(options, 10) == 4);
  CHECK(repeat_length({.length = 5}, 10) == 5);
}

TEST_CASE("the loss on each copy is the mean over its tokens but the first") {
  const std::unique_ptr<Gpt> model = lively_model(30, 16);
  const RepeatOptions options{.sequences = 3, .length = 6, .first = 29, .seed = 8};
  double first = 0;
  double second = 0;
  for (Index number = 0; number < 3; ++number) {
    const Ids tokens = repeated_tokens(options, 30, 6, number).tokens;
    const Tensor all = log_probabilities(*model, tokens);
    for (Index i = 2; i <= 6; ++i) {  // positions of the first copy: 1 ... 6
      first -= element(all, i - 1, tokens[static_cast<std::size_t>(i)]) / 15;
      second -= element(all, i + 5, tokens[static_cast<std::size_t>(i + 6)]) / 15;
    }
  }
  const RepeatLoss loss = repeat_loss(*model, options);
  CHECK(loss.first == Approx(first).epsilon(1e-5));
  CHECK(loss.second == Approx(second).epsilon(1e-5));
  CHECK(loss.in_context() == Approx(second - first).margin(1e-4));
  CHECK(std::abs(second - first) > 1e-3);
}

TEST_CASE("the losses of each sequence are those of a run with it alone, and have the same mean") {
  const std::unique_ptr<Gpt> model = lively_model(30, 16);
  const RepeatOptions options{.sequences = 3, .length = 6, .seed = 8};
  const std::vector<RepeatLoss> each = repeat_losses(*model, options);
  REQUIRE(each.size() == 3);
  RepeatOptions first = options;
  first.sequences = 1;
  CHECK(each[0].second == repeat_loss(*model, first).second);
  CHECK(each[0].second != each[1].second);
  CHECK(repeat_loss(*model, options).second ==
        Approx((each[0].second + each[1].second + each[2].second) / 3));
}

TEST_CASE("a block without room for two copies has no repeated loss") {
  const std::unique_ptr<Gpt> model = lively_model(30, 3);
  check_error([&] { repeat_loss(*model, {}); }, {"repeat_loss", "16", "1"});
  check_error([&] { repeat_loss(*lively_model(30, 16), {.sequences = 0}); },
              {"repeat_loss", "sequences"});
}
