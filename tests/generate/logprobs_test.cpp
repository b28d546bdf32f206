#include "generate/results.h"
#include "support/test.h"

// Returns the log softmax [V] after `context`, from a plain forward pass.
std::vector<double> plain_log_probabilities(const Gpt& model, const Ids& context) {
  return select(log_probabilities(model, context), 0, -1).to_vector();
}

GenerateOptions wild(Index count, Index logprobs) {
  GenerateOptions options{
      .max_new_tokens = count, .ignore_end_of_text = true, .logprobs = logprobs};
  return options;
}

// Checks the choices of every token against a forward pass over the text so far, cut to its last
// half block whenever it exceeds a block.
void check_against_model(const Gpt& model, const GenerateResult& result, double margin = 1e-4) {
  Ids window = byte_ids("ab");
  const Index block = model.config().block_size;
  REQUIRE(result.choices.size() == result.tokens.size());
  for (std::size_t i = 0; i < result.tokens.size(); ++i) {
    INFO("token " << i);
    if (std::ssize(window) > block) {
      window.erase(window.begin(), window.end() - (block + 1) / 2);
    }
    const std::vector<double> expected = plain_log_probabilities(model, window);
    const TokenChoice& choice = result.choices[i];
    CHECK(choice.token == result.tokens[i]);
    const auto own = expected[static_cast<std::size_t>(choice.token)];
    CHECK(choice.log_probability == Approx(own).margin(margin));
    const auto likelier = [&](double than) {
      return std::count_if(expected.begin(), expected.end(), [&](double x) { return x > than; });
    };
    CHECK(choice.rank >= 1 + likelier(own + 2 * margin));
    CHECK(choice.rank <= 1 + likelier(own - 2 * margin));
    double best = 1;
    for (const TokenLogProbability& other : choice.likeliest) {
      CHECK(other.log_probability ==
            Approx(expected[static_cast<std::size_t>(other.token)]).margin(margin));
      CHECK(other.log_probability <= best);
      best = other.log_probability;
    }
    CHECK(choice.likeliest.front().log_probability ==
          Approx(*std::max_element(expected.begin(), expected.end())).margin(margin));
    window.push_back(result.tokens[i]);
  }
}

TEST_CASE("log-probabilities are those of a plain forward pass, also past the block") {
  const auto model = lively_model(257, 16);
  for (const bool use_cache : {true, false}) {
    GenerateOptions options = wild(50, 4);
    options.use_cache = use_cache;
    const GenerateResult result = generate(*model, ByteTokenizer(), "ab", options);
    REQUIRE(result.tokens.size() == 50);
    CHECK(result.choices[0].likeliest.size() == 4);
    check_against_model(*model, result);
  }
}

TEST_CASE("log-probabilities are computed before penalty and temperature and filters") {
  const auto model = lively_model(257, 16);
  GenerateOptions options = wild(30, 2);
  options.sampling.temperature = 0.3;
  options.sampling.top_k = 3;
  options.sampling.min_p = 0.05;
  options.sampling.repetition_penalty = 1.5;
  check_against_model(*model, generate(*model, ByteTokenizer(), "ab", options));
}

TEST_CASE("log-probabilities change no text and are returned only on request") {
  const auto model = lively_model(257, 32);
  Decoder decoder(*model);
  GenerateOptions options = wild(40, 3);
  const auto with = generate_samples(decoder, ByteTokenizer(), "ab", options, 3);
  options.logprobs.reset();
  const auto without = generate_samples(decoder, ByteTokenizer(), "ab", options, 3);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    CHECK(with[sample].tokens == without[sample].tokens);
    CHECK(without[sample].choices.empty());
    check_against_model(*model, with[sample]);
  }
}

TEST_CASE("every chosen token is reported at once and so is the end of the text") {
  const auto model = scripted_model(257, script_of("ab"));
  GenerateOptions options = greedy(10);
  options.logprobs = 0;
  Ids told;
  std::vector<std::size_t> told_at_piece;
  GenerateResult result;
  const ByteTokenizer tokenizer;
  Decoder decoder(*model);
  Engine engine(decoder, tokenizer);
  engine.begin({.prompt = tokenizer.encode_prompt("?"),
                .options = options,
                .on_text = [&](Index, std::string_view) { told_at_piece.push_back(told.size()); },
                .on_token = [&](Index, const TokenChoice& choice) { told.push_back(choice.token); },
                .on_end = [&](Index, GenerateResult ended) { result = std::move(ended); }});
  finish(engine);
  CHECK(told == result.tokens);
  CHECK(told_at_piece == std::vector<std::size_t>{1, 2});
  REQUIRE(result.choices.size() == 3);
  CHECK(result.choices[2].token == ByteTokenizer().end_of_text());
  CHECK(result.choices[0].likeliest.empty());
  CHECK(result.choices[0].rank == 1);
}
