#include "support/test.h"

namespace generator_test {
constexpr std::int32_t kEnd = 256;  // <|endoftext|> of a ByteTokenizer

TEST_CASE("generation follows the model until it ends the text") {
  const auto model = scripted_model(257, script_of("hello"));
  const GenerateResult result = generate(*model, ByteTokenizer(), "?", greedy(100));
  CHECK(result.text == "hello");
  CHECK(result.tokens == script_of("hello"));
  CHECK(result.finish_reason == FinishReason::end_of_text);
  CHECK(result.prompt_tokens == 1);
  CHECK_FALSE(result.prompt_was_cut);
  CHECK(result.seconds_to_first_token > 0);
  CHECK(result.seconds >= result.seconds_to_first_token);
}

TEST_CASE(
    "every end-of-text token ends a generated text and none is chosen when the end is ignored") {
  const auto model = scripted_model(257, script_of("hel;lo"));
  ByteTokenizer tokenizer;
  tokenizer.set_stop_tokens({kEnd, ';'});
  const GenerateResult result = generate(*model, tokenizer, "?", greedy(100));
  CHECK(result.text == "hel");
  CHECK(result.finish_reason == FinishReason::end_of_text);
  GenerateOptions options = greedy(7);
  options.ignore_end_of_text = true;
  const std::vector<std::int32_t> tokens = generate(*model, tokenizer, "?", options).tokens;
  CHECK(tokens.size() == 7);
  CHECK(std::find(tokens.begin(), tokens.end(), ';') == tokens.end());
}

TEST_CASE("a prompt of ids is used unchanged") {
  const auto model = lively_model(257, 32);
  ByteTokenizer tokenizer;
  Decoder decoder(*model);
  const GenerateResult text = generate(decoder, tokenizer, "ab", greedy(5));
  tokenizer.set_prepends_begin_token(true);
  const GenerateResult ids =
      generate(decoder, tokenizer, std::vector<std::int32_t>{'a', 'b'}, greedy(5));
  CHECK(ids.tokens == text.tokens);
  CHECK(ids.prompt_tokens == 2);
}

TEST_CASE("generation ends after max_new_tokens") {
  const auto model = scripted_model(257, script_of("hello"));
  const GenerateResult three = generate(*model, ByteTokenizer(), "?", greedy(3));
  CHECK(three.text == "hel");
  CHECK(three.finish_reason == FinishReason::length);
  const GenerateResult none = generate(*model, ByteTokenizer(), "?", greedy(0));
  CHECK(none.text.empty());
  CHECK(none.tokens.empty());
  CHECK(none.finish_reason == FinishReason::length);
}

TEST_CASE("a full window keeps the last half of the block rounded up") {
  // The token after position p is byte p, so that the text shows the positions used.
  const auto run = [](Index block, const std::string& prompt, Index count) {
    const std::vector<std::int32_t> script = numbers(static_cast<std::int32_t>(block));
    std::vector<std::vector<std::int32_t>> texts;
    for (const bool use_cache : {true, false}) {
      GenerateOptions options = greedy(count);
      options.use_cache = use_cache;
      texts.push_back(
          generate(*scripted_model(257, script), ByteTokenizer(), prompt, options).tokens);
    }
    CHECK(texts[0] == texts[1]);
    return texts[0];
  };
  using Ids = std::vector<std::int32_t>;
  CHECK(run(6, "?", 13) == Ids{0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4});
  CHECK(run(5, "?", 10) == Ids{0, 1, 2, 3, 4, 2, 3, 4, 2, 3});
  CHECK(run(2, "?", 5) == Ids{0, 1, 0, 1, 0});
  CHECK(run(1, "?", 4) == Ids{0, 0, 0, 0});
  // A prompt that fills the block fits; a longer one is cut like any other context.
  CHECK(run(6, "123456", 3) == Ids{5, 2, 3});
  CHECK(run(6, "1234567", 3) == Ids{2, 3, 4});
}

TEST_CASE("a prompt longer than the block gives the same text as its last half block") {
  const auto model = lively_model(257, 16);
  GenerateOptions options = greedy(40);
  const GenerateResult cut = generate(*model, ByteTokenizer(), "abcdefghijklmnopq", options);
  CHECK(cut.prompt_was_cut);
  CHECK(cut.prompt_tokens == 17);
  const GenerateResult whole = generate(*model, ByteTokenizer(), "jklmnopq", options);
  CHECK_FALSE(whole.prompt_was_cut);
  CHECK(cut.tokens == whole.tokens);
  CHECK_FALSE(generate(*model, ByteTokenizer(), "abcdefghijklmnop", greedy(1)).prompt_was_cut);
}

TEST_CASE("500 greedy tokens are the same with and without the key/value cache") {
  const auto check = [](Index block, Index layers, Index prompt_length) {
    const auto model = lively_model(257, block, layers);
    std::string prompt;
    for (Index i = 0; i < prompt_length; ++i) {
      prompt += static_cast<char>('a' + i * i % 26);
    }
    GenerateOptions options = greedy(500);
    options.ignore_end_of_text = true;
    const GenerateResult cached = generate(*model, ByteTokenizer(), prompt, options);
    options.use_cache = false;
    const GenerateResult plain = generate(*model, ByteTokenizer(), prompt, options);
    CHECK(cached.tokens.size() == 500);
    CHECK(cached.tokens == plain.tokens);
    CHECK(cached.text == plain.text);
    // The text must vary: a repeated token would prove little.
    CHECK(std::set(cached.tokens.begin(), cached.tokens.end()).size() > 40);
  };
  check(64, 2, 10);
  check(1024, 1, 700);  // crosses the end of the block once
}

TEST_CASE("an empty prompt starts from the end-of-text token") {
  // Token 256 is at position 0 in both cases.
  const auto model = lively_model(257, 16);
  ByteTokenizer plain;
  const GenerateResult empty = generate(*model, plain, "", greedy(30));
  CHECK(empty.prompt_tokens == 1);
  ByteTokenizer documents;
  documents.set_prepends_begin_token(true);
  const GenerateResult document = generate(*model, documents, "", greedy(30));
  CHECK(document.prompt_tokens == 1);
  CHECK(empty.tokens == document.tokens);
  CHECK(generate(*model, documents, "abc", greedy(1)).prompt_tokens == 4);
  CHECK(generate(*model, plain, "abc", greedy(1)).prompt_tokens == 3);
}

TEST_CASE("the unknown token and ids that the tokenizer lacks are never generated") {
  const CharTokenizer tokenizer = build_char_tokenizer("ab");  // 4 ids
  const auto unknown = scripted_model(4, {1, 1, 1, 1, 1, 1});
  const GenerateResult result = generate(*unknown, tokenizer, "a", greedy(6));
  CHECK(std::count(result.tokens.begin(), result.tokens.end(), 1) == 0);
  const auto rounded_up = scripted_model(8, {2, 7, 3, 0});
  GenerateOptions options = greedy(3);
  options.sampling.temperature = 1;
  for (const std::int32_t id : generate(*rounded_up, tokenizer, "a", options).tokens) {
    CHECK(id < 4);
  }
}

TEST_CASE("the same seed gives the same texts and different samples differ") {
  const auto model = lively_model(257, 32);
  const auto text = [&](std::uint64_t seed, Index sample) {
    GenerateOptions options{.max_new_tokens = 50};
    options.sampling.seed = seed;
    options.sample = sample;
    options.ignore_end_of_text = true;
    return generate(*model, ByteTokenizer(), "a", options).tokens;
  };
  CHECK(text(1, 0) == text(1, 0));
  CHECK(text(1, 2) == text(1, 2));
  CHECK(text(1, 0) != text(1, 1));
  CHECK(text(1, 0) != text(2, 0));
}

TEST_CASE("the repetition penalty sees the prompt and the output") {
  // Every position prefers "a", and "b" half as much.
  const auto model = scripted_model(257, std::vector<std::int32_t>(8, 'a'));
  Tensor head = model->head_weight();
  const Index width = head.size(1);
  for (Index p = 0; p < 8; ++p) {
    head.data<float>()['b' * width + p] = 50;
  }
  CHECK(generate(*model, ByteTokenizer(), "x", greedy(4)).text == "aaaa");
  GenerateOptions options = greedy(4);
  options.sampling.repetition_penalty = 4;
  // After its first occurrence the logit of "a" is divided by 4, and so is that of "b".
  CHECK(generate(*model, ByteTokenizer(), "x", options).text == "abaa");
  CHECK(generate(*model, ByteTokenizer(), "a", options).text == "baaa");
  CHECK(generate(*model, ByteTokenizer(), "ab", options).text == "aaaa");
}

TEST_CASE("generation names the option that it refuses") {
  const auto model = lively_model(257, 8, 1);
  const ByteTokenizer bytes;
  const auto error = [&](const GenerateOptions& options, const std::string& prompt = "a") {
    return error_of([&] { generate(*model, bytes, prompt, options); });
  };
  GenerateOptions options{.max_new_tokens = -1};
  CHECK(error(options) == "max_new_tokens: expected a number from 0, got -1");
  options = {};
  options.sample = -1;
  CHECK(error(options) == "sample: expected a number from 0, got -1");
  options = {};
  options.stop = {"x", ""};
  CHECK(error(options) == "stop: expected a text, got an empty one");
  options.stop = {"\xFF"};
  CHECK(error(options) == "stop: invalid UTF-8 at byte 0");
  options = {};
  options.sampling.top_p = 2;
  CHECK(error(options) == "top_p: expected a number from 0 to 1, got 2");
  CHECK(contains(error({}, "a\x80"), "invalid UTF-8 at byte 1"));
  const auto small = lively_model(200, 8, 1);
  check_error([&] { generate(*small, bytes, "a\xC8\xA3"); }, {"prompt", "got 200"});
}

TEST_CASE("a model with damaged weights gives an error, not a text") {
  const auto model = lively_model(257, 8, 1);
  for (auto& [name, parameter] : model->parameters()) {
    if (name == "lm_head.weight") {
      parameter.data<float>()[16 * 30] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  CHECK(error_of([&] { generate(*model, ByteTokenizer(), "a"); })
            .rfind("[Sampler] the logits are not finite: the logit of token 30 is NaN: the model's "
                   "weights",
                   0) == 0);
}

TEST_CASE("weights so large that their squares are infinite give an error, not a text") {
  GptConfig config{.vocab_size = 257, .block_size = 16, .n_layer = 1, .n_head = 2, .n_embd = 16};
  config.norm_type = NormKind::rms;
  config.bias = false;
  Gpt model(config);
  for (auto& [name, parameter] : model.parameters()) {
    if (name == "wte.weight") {
      parameter.fill(3e38);
    }
  }
  for (const bool use_cache : {true, false}) {
    GenerateOptions options = greedy(5);
    options.use_cache = use_cache;
    CHECK(error_of([&] {
            generate(model, ByteTokenizer(), "a", options);
          }).find("the logits are not finite") != std::string::npos);
  }
}
}  // namespace generator_test
