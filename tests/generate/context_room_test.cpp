#include "generate/results.h"
#include "support/hooks.h"
#include "support/test.h"

namespace context_room_test {
constexpr Index kRoom = 320;

struct Wanted {
  Index prompt = 1;
  Index tokens = 1;
  Index samples = 1;
  ForwardHook* hook = nullptr;
  bool guesses = false;
};

Request request_of(const Wanted& wanted, std::uint64_t seed) {
  Ids prompt;
  for (Index i = 0; i < wanted.prompt; ++i) {
    // The first 70 tokens are those of half of the prompts.
    const auto position = static_cast<std::uint64_t>(i);
    prompt.push_back(
        static_cast<std::int32_t>(i < 70 ? 65 + seed % 2 : (seed * 7 + 3 * position) % 256));
  }
  Request request{
      .prompt = std::move(prompt),
      .options = {.max_new_tokens = wanted.tokens, .ignore_end_of_text = true, .logprobs = 1},
      .samples = wanted.samples,
      .hook = wanted.hook};
  request.options.sampling.seed = seed;
  if (wanted.guesses) {
    request.options.make_drafter = ngram_drafter(2);
  }
  return request;
}

// Results by request and sample.
using Results = std::map<std::pair<std::size_t, Index>, GenerateResult>;

// Starts requests `gap` steps apart, and calls `look` after each step.
template <class Look>
Results run(Decoder& decoder, const std::vector<Wanted>& all, const EngineOptions& options,
            Index gap, const Look& look) {
  const ByteTokenizer tokenizer;
  Engine engine(decoder, tokenizer, options);
  Results results;
  Index wait = 0;
  std::size_t next = 0;
  for (bool is_busy = true; is_busy || next < all.size();) {
    if (wait-- == 0 && next < all.size()) {
      Request request = request_of(all[next], next);
      request.on_end = [&results, next](Index sample, GenerateResult result) {
        results[{next, sample}] = std::move(result);
      };
      engine.begin(std::move(request));
      wait = gap;
      ++next;
    }
    is_busy = engine.step();
    look(engine.status(), results);
  }
  return results;
}

void check_same(const Results& a, const Results& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [name, result] : a) {
    test::check_same(result, b.at(name));
  }
}

TEST_CASE("texts in little room get the same bits as texts with room", "[long]") {
  const auto model = lively_model(257, 160);
  // Doubles the output of layer 1: texts with it are computed in passes of their own.
  HookAt hook(Point::mlp_out, 1, [](const Tensor& value) { return add(value, value); });
  std::vector<Wanted> all;
  std::mt19937 draw(3);
  for (int i = 0; i < 80; ++i) {
    all.push_back({.prompt = 1 + static_cast<Index>(draw() % 200),
                   .tokens = 1 + static_cast<Index>(draw() % 120),
                   .samples = 1 + static_cast<Index>(draw() % 8 == 0) * 2,
                   .hook = draw() % 6 == 0 ? &hook : nullptr,
                   .guesses = draw() % 3 == 0});
  }
  const auto none = [](const EngineStatus&, const Results&) {};
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8}) {
    Decoder decoder(*model, format);
    for (const Index step_tokens : {0, 32}) {
      EngineOptions options{.max_batch = 8, .prompt_chunk = 64, .step_tokens = step_tokens};
      const Results roomy = run(decoder, all, options, 400, none);
      options.context_tokens = kRoom;
      Index most = 0;
      Index releases = 0;
      Index together = 0;
      const Results tight =
          run(decoder, all, options, 5, [&](const EngineStatus& status, const Results&) {
            most = std::max(most, status.used_tokens);
            together = std::max(together, status.texts);
            releases = status.releases;
          });
      CHECK(most <= kRoom);
      CHECK(together > 2);
      CHECK(releases > 10);
      check_same(tight, roomy);
    }
  }
}

TEST_CASE("a text that passes longrope's context in little room keeps its bits") {
  GptConfig config = lively_model(257, 256)->config();
  config.position = PositionKind::rope;
  config.rope.scaling = RopeScaling::longrope;
  config.rope.original_max_position_embeddings = 100;
  config.rope.short_factors = {1, 1.5, 2, 3};
  config.rope.long_factors = {9, 7, 5, 4};
  config.rope.attention_factor = 1.2;
  const Gpt model(config);
  Decoder decoder(model);
  const auto none = [](const EngineStatus&, const Results&) {};
  const std::vector<Wanted> all{{40, 150}, {80, 100}, {90, 120}, {120, 60}, {30, 90}};
  EngineOptions options{.prompt_chunk = 64, .step_tokens = 32};
  const Results roomy = run(decoder, all, options, 400, none);
  options.context_tokens = 384;
  Index releases = 0;
  check_same(run(decoder, all, options, 3,
                 [&](const EngineStatus& status, const Results&) { releases = status.releases; }),
             roomy);
  CHECK(releases > 0);
}

TEST_CASE("the oldest text never waits for room") {
  ByteEngine engine(256, {.prompt_chunk = 64, .step_tokens = 32, .context_tokens = 256});
  Index tokens = 0;
  Request first = request_of({.prompt = 20, .tokens = 230}, 0);
  first.on_token = [&](Index, const TokenChoice&) { ++tokens; };
  engine.begin(std::move(first));
  engine.step();
  engine.step();
  for (std::uint64_t i = 1; i < 12; ++i) {
    engine.begin(request_of({.prompt = 50, .tokens = 100}, i));
  }
  Index before = tokens;
  while (before < 230) {
    engine.step();
    CHECK(tokens == before + 1);
    ++before;
  }
  CHECK(engine.status().releases > 0);
}

TEST_CASE("a text needs at most a context, whatever it may write") {
  CHECK(Engine::context_of(request_of({60, 4}, 0), 512) == 64);
  CHECK(Engine::context_of(request_of({60, 5}, 0), 512) == 128);
  CHECK(Engine::context_of(request_of({130, 10, 3}, 0), 512) == 192);
  CHECK(Engine::context_of(request_of({500, 1000}, 0), 512) == 512);
  ByteEngine engine(512, {.prompt_chunk = 64, .context_tokens = 192});
  CHECK_THROWS_AS(engine.begin(request_of({190, 10}, 0)), Error);
  engine.begin(request_of({130, 20, 5}, 0));  // the texts do not fit at once
  while (engine.step()) {
    CHECK(engine.status().used_tokens <= 192);
  }
  CHECK(engine.status().tokens == 100);
}

TEST_CASE("a prompt that fits passes a longer one that does not, but not for ever") {
  const auto model = lively_model(257, 512);
  Decoder decoder(*model);
  std::vector<Wanted> all{{.prompt = 200, .tokens = 300}, {.prompt = 400, .tokens = 20}};
  all.insert(all.end(), 150, {.prompt = 30, .tokens = 20});
  std::vector<std::size_t> ended;
  run(decoder, all, {.prompt_chunk = 64, .step_tokens = 32, .context_tokens = 640}, 0,
      [&](const EngineStatus&, const Results& results) {
        for (const auto& [name, result] : results) {
          if (std::ranges::find(ended, name.first) == ended.end()) {
            ended.push_back(name.first);
          }
        }
      });
  const auto place = std::ranges::find(ended, std::size_t{1}) - ended.begin();
  CHECK(place > 32);
  CHECK(place < 100);
}

TEST_CASE("short answers have places beside those of long ones") {
  const auto model = lively_model(257, 512);
  Decoder decoder(*model);
  std::vector<Wanted> all(4, {.prompt = 10, .tokens = 300});
  all.push_back({.prompt = 10, .tokens = 16});
  std::size_t first = 99;
  run(decoder, all, {.max_batch = 2, .brief_batch = 1}, 0,
      [&](const EngineStatus& status, const Results& results) {
        CHECK(status.texts <= 3);
        first = results.size() == 1 ? results.begin()->first.first : first;
      });
  CHECK(first == 4);
}
}  // namespace context_room_test
