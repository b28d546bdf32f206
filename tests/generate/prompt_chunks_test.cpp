#include "generate/prefix_cache.h"
#include "generate/results.h"
#include "support/test.h"

constexpr Index kChunk = 64;

struct Prompt {
  std::string text;
  std::uint64_t seed;
};

GenerateOptions drawing(std::uint64_t seed) {
  GenerateOptions options{.max_new_tokens = 20, .logprobs = 1};
  options.sampling.seed = seed;
  return options;
}

// Returns the texts of requests that start one step apart.
std::vector<GenerateResult> texts_of(const Gpt& model, const std::vector<Prompt>& prompts,
                                     const EngineOptions& options, EngineStatus* status = nullptr) {
  Decoder decoder(model);
  const ByteTokenizer tokenizer;
  Engine engine(decoder, tokenizer, options);
  std::vector<GenerateResult> results(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    engine.begin(request_for(tokenizer.encode_prompt(prompts[i].text), drawing(prompts[i].seed),
                             results[i]));
    engine.step();
  }
  finish(engine);
  if (status != nullptr) {
    *status = engine.status();
  }
  return results;
}

const std::string kCommon(150, 'q');
const std::string kLong = kCommon + std::string(90, 'z');

TEST_CASE("reusing the cached beginning of a prompt changes no bit") {
  const auto model = lively_model(257, 512);
  const std::vector<Prompt> prompts{{kCommon + "one", 1}, {kCommon + "two", 2}, {kLong + "far", 3},
                                    {kLong + "three", 4}, {kCommon, 5},         {"four", 6}};
  for (const Index step_tokens : {0, 32}) {
    EngineOptions options{.prompt_chunk = 64, .step_tokens = step_tokens, .context_tokens = 4096};
    EngineStatus status;
    const std::vector<GenerateResult> shared = texts_of(*model, prompts, options, &status);
    CHECK(status.prompt_tokens == 153 + 153 + 243 + 245 + 150 + 4);
    CHECK(status.reused_prompt_tokens == 128 + 128 + 192 + 128);
    CHECK(status.kept_tokens > 0);
    CHECK(status.used_tokens <= status.kept_tokens);
    CHECK(shared[3].prompt_tokens_reused == 192);
    options.context_tokens = 0;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      check_same(shared[i], texts_of(*model, {prompts[i]}, options)[0]);
    }
  }
}

TEST_CASE("a text that passes the original context of longrope is read again") {
  GptConfig config = lively_model(257, 512)->config();
  config.position = PositionKind::rope;
  config.rope.scaling = RopeScaling::longrope;
  config.rope.original_max_position_embeddings = 160;
  config.rope.short_factors = {1, 1.5, 2, 3};
  config.rope.long_factors = {9, 7, 5, 4};
  config.rope.attention_factor = 1.2;
  const Gpt model(config);
  std::uint64_t number = 0;
  for (auto& [name, parameter] : model.parameters()) {
    if (parameter.rank() >= 2) {
      parameter.copy_from(random_normal(parameter.shape(), RandomStream{5, number++}, 0, 0.5));
    }
  }
  // The second prompt passes the limit while it grows, the third before its first token.
  for (const std::string& prompt : {std::string("short"), kCommon, kLong}) {
    GenerateOptions options = greedy(30);
    options.ignore_end_of_text = true;
    options.use_cache = false;
    const GenerateResult plain = generate(model, ByteTokenizer(), prompt, options);
    for (const Index chunk : {0, 64}) {
      Decoder decoder(model);
      const ByteTokenizer tokenizer;
      Engine engine(decoder, tokenizer, {.prompt_chunk = chunk, .context_tokens = 4096});
      options.use_cache = true;
      GenerateResult cached;
      engine.begin(request_for(tokenizer.encode_prompt(prompt), options, cached));
      finish(engine);
      CHECK(cached.tokens == plain.tokens);
      CHECK(engine.status().kept_tokens == 0);  // keys depend on the length of the text
    }
  }
  KeyValueCache cache = model.make_cache();
  Decoder decoder(model);
  decoder.read(byte_ids(kCommon), cache);
  CHECK_THROWS_WITH(decoder.read(byte_ids("12345678901"), cache),
                    "[Gpt] the keys of 150 tokens cannot be used in a sequence of 161: longrope "
                    "rotates all keys of sequences longer than 160 otherwise");
}

TEST_CASE("a prompt chunk that is no multiple or divisor of 64 is refused") {
  const auto model = lively_model(257, 512);
  Decoder decoder(*model);
  CHECK_THROWS_WITH(Engine(decoder, ByteTokenizer(), {.prompt_chunk = 48}),
                    "prompt_chunk: expected a multiple or a divisor of 64, got 48");
  CHECK_THROWS_WITH(Engine(decoder, ByteTokenizer(), {.prompt_chunk = -64}),
                    "prompt_chunk: expected a multiple or a divisor of 64, got -64");
  CHECK_THROWS_WITH(Engine(decoder, ByteTokenizer(), {.step_tokens = -1}),
                    "step_tokens: expected a number from 0, got -1");
}

TEST_CASE("other texts continue between the chunks of a prompt") {
  ByteEngine engine(512, {.prompt_chunk = kChunk});
  Index tokens = 0;
  Index tokens_before = -1;
  Request first{.prompt = {1}, .options = {.max_new_tokens = 30, .ignore_end_of_text = true}};
  first.on_token = [&](Index, const TokenChoice&) { ++tokens; };
  Request second{.prompt = engine.tokenizer.encode_prompt(kLong), .options = {.max_new_tokens = 1}};
  second.on_token = [&](Index, const TokenChoice&) { tokens_before = tokens; };
  engine.begin(std::move(first));
  engine.begin(std::move(second));
  finish(engine);
  CHECK(tokens_before == 5);  // one with its own prompt, then one with each of four chunks
}

TEST_CASE("a step reads few tokens of prompts beside many texts") {
  ByteEngine engine(512, {.prompt_chunk = 32, .step_tokens = 32});
  std::vector<Index> first_steps;
  Index step = 1;
  const auto begin = [&](std::size_t length, Index samples) {
    Request request{.prompt = Ids(length, 65),
                    .options = {.max_new_tokens = 40, .ignore_end_of_text = true},
                    .samples = samples};
    request.on_token = [&, is_first = true](Index, const TokenChoice&) mutable {
      if (is_first) {
        first_steps.push_back(step);
      }
      is_first = false;
    };
    engine.begin(std::move(request));
  };
  for (const std::size_t length : {10U, 11U, 12U}) {
    begin(length, 1);  // 33 tokens together
  }
  for (; step < 3; ++step) {
    engine.step();
  }
  CHECK(first_steps == std::vector<Index>{1, 1, 2});
  begin(32, 12);
  for (; step < 5; ++step) {
    engine.step();
  }
  CHECK(first_steps == std::vector<Index>{1, 1, 2, 4});  // 28 tokens a step beside three texts
  begin(40, 1);
  while (engine.step()) {
    ++step;
  }
  CHECK(first_steps.back() == 8);  // 10 tokens a step beside fifteen
}

TEST_CASE("a prompt with an id outside the vocabulary fails alone") {
  ByteEngine engine(512, {.prompt_chunk = 32, .step_tokens = 32});
  std::string message;
  Index ends = 0;
  for (const std::int32_t id : {65, 257, 66}) {
    Request request{.prompt = {65, id}, .options = {.max_new_tokens = 4}};
    request.on_end = [&](Index, const GenerateResult&) { ++ends; };
    try {
      engine.begin(std::move(request));
    } catch (const Error& found) {
      message = found.what();
    }
  }
  finish(engine);
  CHECK(ends == 2);
  CHECK(message ==
        "prompt: expected token ids from 0 to 256, for which the model has rows, got 257");
}

TEST_CASE("a short prompt does not wait for the whole of a long one") {
  const Index chunk = GENERATE(64, 32);  // 32: steps of texts read prompts
  const auto model = lively_model(257, 1024);
  const Prompt lengthy{std::string(960, 'l'), 1};
  const Prompt brief{"ten bytes.", 2};
  Decoder decoder(*model);
  const ByteTokenizer tokenizer;
  const EngineOptions options{.prompt_chunk = chunk, .step_tokens = chunk == 32 ? chunk : 0};
  Engine engine(decoder, tokenizer, options);
  Index step = 0;
  const auto begin = [&](const Prompt& prompt, Index& first_step, GenerateResult& result) {
    Request request =
        request_for(tokenizer.encode_prompt(prompt.text), drawing(prompt.seed), result);
    request.on_token = [&](Index, const TokenChoice&) {
      first_step = first_step == 0 ? step : first_step;
    };
    engine.begin(std::move(request));
  };
  Index long_step = 0;
  Index short_step = 0;
  GenerateResult long_result;
  GenerateResult short_result;
  begin(lengthy, long_step, long_result);
  for (; step < 3; ++step) {
    engine.step();
  }
  begin(brief, short_step, short_result);
  for (bool continues = true; continues; continues = engine.step()) {
    ++step;
  }
  CHECK(short_step <= 3 + 3);
  CHECK(long_step <= 960 / chunk + 2);  // its chunks, and what the short one takes of others
  check_same(long_result, texts_of(*model, {lengthy}, options)[0]);
  check_same(short_result, texts_of(*model, {brief}, options)[0]);
}

TEST_CASE("short prompts that keep coming do not stop a long one") {
  ByteEngine engine(1024, {.max_batch = 4, .prompt_chunk = kChunk});
  const auto begin = [&](std::size_t length, Index samples, std::function<void()> on_first) {
    Request request{.prompt = Ids(length, 65),
                    .options = {.max_new_tokens = 1, .ignore_end_of_text = true},
                    .samples = samples};
    request.on_token = [on_first](Index, const TokenChoice&) { on_first(); };
    engine.begin(std::move(request));
  };
  bool has_begun = false;
  Index steps = 0;
  begin(960, 1, [&] { has_begun = true; });
  for (; !has_begun && steps < 100; ++steps) {
    begin(10, 3, [] {});
    engine.step();
  }
  CHECK(steps <= 2 * 15);
  finish(engine);
}

TEST_CASE("prompts of different lengths share the cache of their common beginning") {
  const auto model = lively_model(257, 1024);
  const std::string common(512, 's');
  Decoder decoder(*model);
  const ByteTokenizer tokenizer;
  Engine engine(decoder, tokenizer,
                {.prompt_chunk = 32, .step_tokens = 32, .context_tokens = 4096});
  const std::vector<std::string> texts{common + std::string(200, 'a'), common + "b"};
  std::vector<GenerateResult> results(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    engine.begin(request_for(tokenizer.encode_prompt(texts[i]), drawing(i), results[i]));
  }
  finish(engine);
  CHECK(engine.status().reused_prompt_tokens >= 512 / 2);  // each block, once it is complete
  for (std::size_t i = 0; i < texts.size(); ++i) {
    check_same(results[i],
               texts_of(*model, {{texts[i], i}}, {.prompt_chunk = 32, .step_tokens = 32})[0]);
  }
}

TEST_CASE("the least recently used cache blocks are evicted first") {
  const auto model = lively_model(257, 512);
  PrefixCache prefixes(kChunk);
  const auto read = [&](std::int32_t token, Index length) {
    const Ids prompt(static_cast<std::size_t>(length), token);
    KeyValueCache cache = model->make_cache();
    cache.reserve(length);
    cache.advance(length);
    prefixes.keep(prompt, cache);
    return prompt;
  };
  const auto one = read(1, 130);
  const auto two = read(2, 70);
  CHECK(prefixes.tokens() == 128 + 64);
  CHECK(prefixes.find(one).length() == 128);
  CHECK(prefixes.find(two).length() == 64);
  CHECK(prefixes.find(Ids(128, 1)).length() == 64);
  CHECK(prefixes.find(Ids(64, 1)).length() == 0);
  CHECK(prefixes.find(two).length() == 64);
  CHECK(prefixes.drop_oldest());
  CHECK(prefixes.tokens() == 64);
  CHECK(prefixes.find(one).length() == 0);
  read(2, 200);  // contains the earlier entries
  CHECK(prefixes.tokens() == 192);
  read(2, 70);
  CHECK(prefixes.tokens() == 192);
  CHECK(prefixes.drop_oldest());
  CHECK(!prefixes.drop_oldest());
}
