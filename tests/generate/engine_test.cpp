#include "generate/results.h"
#include "support/hooks.h"
#include "support/test.h"

namespace engine_test {
HookAt halving() {
  return {Point::z, 0, [](const Tensor& z) { return z * 0.5; }};
}

// Returns values beyond the range of float32.
HookAt overflowing() {
  return {Point::z, 0, [](const Tensor& z) { return z * 1e38 * 1e38; }};
}

HookAt failing_in_steps() {
  return {Point::q, 0, [](const Tensor& q) {
            require(q.size(0) > 1, "a step too far");
            return q;
          }};
}

// Results of a request.
struct Outcome {
  std::map<Index, GenerateResult> results;
  std::map<Index, std::string> streamed;
  std::map<Index, Index> tokens;
};

Request request_of(const std::string& prompt, GenerateOptions options, Outcome& outcome) {
  Request request{.prompt = ByteTokenizer().encode_prompt(prompt), .options = std::move(options)};
  request.on_text = [&](Index sample, std::string_view piece) {
    outcome.streamed[sample] += piece;
  };
  request.on_token = [&](Index sample, const TokenChoice&) { ++outcome.tokens[sample]; };
  request.on_end = [&](Index sample, GenerateResult result) {
    outcome.results[sample] = std::move(result);
  };
  return request;
}

GenerateOptions drawing(std::uint64_t seed, Index count) {
  GenerateOptions options{.max_new_tokens = count, .ignore_end_of_text = true};
  options.sampling = {.top_k = 40, .seed = seed};
  return options;
}

// Requests that differ in all options.
std::vector<Request> varied_requests(std::vector<Outcome>& outcomes, HookAt& hook) {
  std::vector<Request> requests;
  outcomes.resize(6);
  requests.push_back(request_of("one", drawing(1, 70), outcomes[0]));  // the window is cut
  requests.push_back(request_of("", drawing(2, 20), outcomes[1]));
  requests[1].options.stop = {"e", "\n", "q"};
  requests.push_back(request_of(std::string(50, 'x'), drawing(3, 9), outcomes[2]));
  requests[2].options.logprobs = 3;
  requests.push_back(request_of("three", drawing(4, 12), outcomes[3]));
  requests[3].samples = 4;
  requests[3].options.sample = 2;
  requests[3].options.stop = {"\n", "e", "a"};  // some samples end early
  requests.push_back(request_of("hooked", drawing(5, 15), outcomes[4]));
  requests[4].hook = &hook;
  requests.push_back(request_of("whole", drawing(6, 5), outcomes[5]));
  requests[5].options.use_cache = false;
  return requests;
}

void check_same_outcome(const Outcome& a, const Outcome& b) {
  REQUIRE(a.results.size() == b.results.size());
  for (const auto& [sample, result] : a.results) {
    check_same(result, b.results.at(sample));
    CHECK(a.streamed.at(sample) == result.text);
    CHECK(a.tokens.at(sample) == std::ssize(result.tokens));
  }
}

TEST_CASE("requests processed together get the same results as alone bit for bit") {
  const auto model = lively_model(257, 48);
  HookAt hook = halving();
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8}) {
    Decoder decoder(*model, format);
    std::vector<Outcome> alone;
    for (Request& request : varied_requests(alone, hook)) {
      const ByteTokenizer tokenizer;
      Engine engine(decoder, tokenizer);
      engine.begin(std::move(request));
      finish(engine);
    }
    CHECK(alone[0].results.at(0).tokens != alone[1].results.at(0).tokens);
    for (const Index together : {1, 3, 32}) {
      std::vector<Outcome> mixed;
      const ByteTokenizer tokenizer;
      Engine engine(decoder, tokenizer, {.max_batch = together});
      for (Request& request : varied_requests(mixed, hook)) {
        engine.begin(std::move(request));
        engine.step();  // earlier requests are ahead
        engine.step();
      }
      finish(engine);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        INFO("request " << i << ", together " << together);
        check_same_outcome(mixed[i], alone[i]);
      }
    }
  }
}

TEST_CASE("texts do not wait for a grammar that needs much work") {
  ByteEngine engine(256);
  Outcome slow;
  Outcome plain;
  GenerateOptions hard = drawing(1, 3);
  hard.grammar = std::make_shared<const Grammar>(
      "root ::= a{0,200} \"x\"\na ::= b{0,30}\nb ::= [a-z] [a-z] | [a-z]");
  Request request = request_of("x", hard, slow);
  request.samples = 6;
  engine.begin(std::move(request));
  engine.begin(request_of("y", drawing(2, 40), plain));
  Index steps = 0;
  while (engine.step()) {
    steps += plain.results.empty() ? 1 : 0;
  }
  CHECK(steps <= 45);  // a token a step
  REQUIRE(slow.results.size() == 6);
  for (const auto& [sample, result] : slow.results) {
    GenerateOptions alone = hard;
    alone.sample = sample;
    CHECK(generate(engine.decoder, ByteTokenizer(), "x", alone).text == result.text);
  }
}

TEST_CASE("a hook changes its own request and no other") {
  ByteEngine engine(48);
  HookAt hook = halving();
  Outcome plain;
  Outcome hooked;
  engine.begin(request_of("text", drawing(1, 30), plain));
  Request request = request_of("text", drawing(1, 30), hooked);
  request.hook = &hook;
  engine.begin(std::move(request));
  finish(engine);
  CHECK(plain.results.at(0).tokens ==
        generate(engine.decoder, engine.tokenizer, "text", drawing(1, 30)).tokens);
  CHECK(hooked.results.at(0).tokens != plain.results.at(0).tokens);
}

TEST_CASE("a cancelled request ends with its text so far and a waiting one never starts") {
  ByteEngine engine(48, {.max_batch = 2});
  std::vector<Outcome> outcomes(4);
  const RequestId first = engine.begin(request_of("a", drawing(1, 1000), outcomes[0]));
  Request self = request_of("b", drawing(2, 1000), outcomes[1]);
  RequestId second = 0;
  self.on_token = [&](Index, const TokenChoice&) {
    if (++outcomes[1].tokens[0] == 4) {
      engine.cancel(second);
    }
  };
  second = engine.begin(std::move(self));
  const RequestId third = engine.begin(request_of("c", drawing(3, 1000), outcomes[2]));
  engine.begin(request_of("d", drawing(4, 3), outcomes[3]));
  engine.cancel(third);
  for (int i = 0; i < 6; ++i) {
    CHECK(engine.step());
  }
  engine.cancel(first);
  engine.cancel(first);
  engine.cancel(999);
  finish(engine);
  CHECK(outcomes[0].results.at(0).finish_reason == FinishReason::cancelled);
  CHECK(outcomes[0].results.at(0).tokens.size() == 6);
  CHECK(outcomes[0].results.at(0).text == outcomes[0].streamed.at(0));
  CHECK(outcomes[1].results.at(0).tokens.size() == 4);
  CHECK(outcomes[1].results.at(0).finish_reason == FinishReason::cancelled);
  CHECK(outcomes[2].results.empty());
  CHECK(outcomes[3].results.at(0).finish_reason == FinishReason::length);
  CHECK(name_of(FinishReason::cancelled) == "cancelled");
}

TEST_CASE("a failing request does not affect others") {
  ByteEngine engine(48);
  HookAt hook = failing_in_steps();
  Outcome good;
  Outcome bad;
  std::string message;
  Request failing = request_of("abc", drawing(1, 20), bad);
  failing.hook = &hook;
  failing.on_error = [&](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& caught) {
      message += caught.what();
    }
  };
  engine.begin(std::move(failing));
  engine.begin(request_of("abc", drawing(1, 20), good));
  finish(engine);
  CHECK(good.results.at(0).tokens ==
        generate(engine.decoder, engine.tokenizer, "abc", drawing(1, 20)).tokens);
  CHECK(bad.results.empty());
  CHECK(message == "a step too far");

  Request alone = request_of("abc", drawing(1, 20), bad);
  alone.hook = &hook;
  engine.begin(std::move(alone));
  CHECK(engine.step());  // reads the prompt
  CHECK_THROWS_WITH(engine.step(), "a step too far");
  CHECK_FALSE(engine.step());
}

TEST_CASE("logits that an intervention makes infinite are not blamed on the weights") {
  const auto model = lively_model(257, 48);
  HookAt hook = overflowing();
  Outcome outcome;
  const ByteTokenizer tokenizer;
  const auto message = [&](Decoder& decoder, ForwardHook* own) {
    Engine engine(decoder, tokenizer);
    Request request = request_of("abc", drawing(1, 20), outcome);
    request.hook = own;
    engine.begin(std::move(request));
    return error_of([&] { finish(engine); });
  };
  Decoder decoder(*model);
  const std::string own = message(decoder, &hook);
  check_parts(own, {"the logits are not finite", "an intervention may make values too large"});
  CHECK_FALSE(contains(own, "weights"));
  CHECK(message(decoder, nullptr) == "no error");
  model->attach(std::shared_ptr<HookAt>(new HookAt(overflowing())));
  Decoder changed(*model);
  CHECK(message(changed, nullptr) == own);
}

TEST_CASE("an engine refuses options that are out of range") {
  ByteEngine engine(48);
  CHECK_THROWS_WITH(engine.begin({.options = {.max_new_tokens = -1}}),
                    "max_new_tokens: expected a number from 0, got -1");
  CHECK_THROWS_WITH(engine.begin({.samples = -1}), "num_samples: expected a number from 0, got -1");
  engine.begin({.samples = 0});
  CHECK_FALSE(engine.step());
  CHECK_THROWS_WITH(Engine(engine.decoder, engine.tokenizer, {.max_batch = 0}),
                    "max_batch: expected a number from 1, got 0");
}
}  // namespace engine_test
