#include "generate/draft_length.h"
#include "generate/results.h"
#include "generate/word_tokenizer.h"
#include "support/test.h"

namespace speculation_test {
// Guesses the right tokens of a known text up to a place, then wrong ones.
class KnownText final : public Drafter {
 public:
  KnownText(Ids known, Index right) : known_(std::move(known)), right_(right) {}
  Ids draft(std::span<const std::int32_t> text, Index most, const Sampler&) override {
    Ids guesses;
    for (Index i = 0; i < most; ++i) {
      const auto place = text.size() + static_cast<std::size_t>(i);
      const std::int32_t next = place < known_.size() ? known_[place] : 1;
      guesses.push_back(i < right_ ? next : (next + 1) % 256);
    }
    return guesses;
  }

 private:
  Ids known_;
  Index right_;
};

GptConfig rotary_config() {
  GptConfig config{.vocab_size = 257,
                   .block_size = 48,
                   .n_layer = 2,
                   .n_head = 4,
                   .n_embd = 64,
                   .position = PositionKind::rope,
                   .gated_mlp = true,
                   .n_kv_head = 2};
  return config;
}

GenerateOptions drawing(Index count) {
  GenerateOptions options{.max_new_tokens = count, .ignore_end_of_text = true};
  options.sampling = {.top_k = 40, .seed = 3};
  options.logprobs = 2;
  return options;
}

// Generates with guesses of which the first `right` are right.
GenerateResult guess(Decoder& decoder, const std::string& prompt, const GenerateOptions& options,
                     Index right) {
  const ByteTokenizer tokenizer;
  const GenerateResult plain = generate(decoder, tokenizer, prompt, options);
  Ids known = tokenizer.encode_prompt(prompt);
  known.insert(known.end(), plain.tokens.begin(), plain.tokens.end());
  GenerateOptions guessing = options;
  guessing.make_drafter = [&] { return std::make_unique<KnownText>(known, right); };
  const GenerateResult result = generate(decoder, tokenizer, prompt, guessing);
  check_same(result, plain);
  return result;
}

TEST_CASE("[speculation] guesses change no bit of a text") {
  const auto learned = lively_model(257, 64);
  const Gpt rotary(rotary_config());
  for (const Gpt* model : std::initializer_list<const Gpt*>{learned.get(), &rotary}) {
    for (const auto format : {WeightFormat::float32, WeightFormat::bfloat16, WeightFormat::int8}) {
      Decoder decoder(*model, format);
      for (const Index right : {0, 1, 2, 15}) {
        INFO(name_of(format) << ", right " << right);
        const GenerateResult result = guess(decoder, "A text", drawing(40), right);
        CHECK(result.guessed_tokens > 0);
        CHECK((result.guesses_taken > 0) == (right > 0));
      }
      guess(decoder, "Longer than its context", drawing(90), 15);  // the window is cut
      guess(decoder, "It stops", {.max_new_tokens = 30, .stop = {"e", "\n", "q"}}, 15);
    }
  }
}

TEST_CASE("[speculation] several texts guess in one step") {
  const auto model = lively_model(257, 64);
  const ByteTokenizer tokenizer;
  Decoder decoder(*model);
  const auto plain = generate_samples(decoder, tokenizer, "abcabc", drawing(40), 3);
  GenerateOptions options = drawing(40);
  options.make_drafter = model_drafter(decoder, tokenizer, tokenizer);
  const auto guessed = generate_samples(decoder, tokenizer, "abcabc", options, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    check_same(guessed[i], plain[i]);
    CHECK(guessed[i].guessed_tokens > 0);
  }
}

TEST_CASE("[speculation] the guesses of an equal model are right") {
  const auto model = lively_model(257, 64);
  const ByteTokenizer tokenizer;
  Decoder decoder(*model);
  Decoder other(*model);
  GenerateOptions options = drawing(50);
  const GenerateResult plain = generate(decoder, tokenizer, "Begin", options);
  options.make_drafter = model_drafter(other, tokenizer, tokenizer);
  const GenerateResult guessed = generate(decoder, tokenizer, "Begin", options);
  check_same(guessed, plain);
  CHECK(guessed.guessed_tokens >= 40);
  CHECK(guessed.guesses_taken == guessed.guessed_tokens);
}

TEST_CASE("[speculation] a model reads a long text in chunks before it guesses") {
  const auto model = lively_model(257, 200);
  Decoder decoder(*model);
  const ByteTokenizer tokenizer;
  const MakeDrafter make = model_drafter(decoder, tokenizer, tokenizer);
  const Ids text = tokenizer.encode_prompt(std::string(149, 'a'));
  const Sampler greedy({.temperature = 0});
  const std::unique_ptr<Drafter> at_once = make();
  CHECK(at_once->read(text, 0));
  const std::unique_ptr<Drafter> in_chunks = make();
  for (int chunk = 0; chunk < 3; ++chunk) {
    CHECK_FALSE(in_chunks->read(text, 32));
  }
  CHECK(in_chunks->read(text, 32));
  CHECK(in_chunks->draft(text, 4, greedy) == at_once->draft(text, 4, greedy));
}

TEST_CASE("[speculation] drafters of several texts share their room") {
  const auto model = lively_model(257, 200);
  Decoder decoder(*model);
  const ByteTokenizer tokenizer;
  const auto room = std::make_shared<DraftRoom>(1.0);
  room->limit(192);
  const MakeDrafter make = model_drafter(decoder, tokenizer, tokenizer, room);
  const Ids text = tokenizer.encode_prompt(std::string(99, 'a'));
  const Sampler greedy({.temperature = 0});
  std::unique_ptr<Drafter> first = make();
  std::unique_ptr<Drafter> second = make();
  CHECK(first->draft(text, 2, greedy).size() == 2);  // takes 128 positions
  CHECK(second->draft(text, 2, greedy).empty());
  CHECK_FALSE(second->read(text, 32));
  first.reset();
  CHECK(second->draft(text, 2, greedy).size() == 2);
}

TEST_CASE("[speculation] n-grams repeat what followed the longest equal end") {
  const Sampler sampler(SamplingOptions{});
  const auto drafter = ngram_drafter(3)();
  const Ids text{7, 1, 2, 3, 8, 9, 5, 2, 3, 4, 1, 2, 3};
  CHECK(drafter->draft(text, 2, sampler) == Ids{8, 9});  // after 1, 2, 3, not after 2, 3
  CHECK(drafter->draft(Ids{1, 2, 3}, 4, sampler).empty());
  CHECK(drafter->draft(Ids{5, 5, 5, 5}, 6, sampler) == Ids(6, 5));
  CHECK(drafter->draft(Ids{1, 2, 1, 2, 1, 2}, 3, sampler) == Ids{1, 2, 1});
  CHECK(drafter->draft(Ids{4, 1, 2, 8, 9, 7, 1, 2}, 5, sampler) == Ids{8, 9});
  CHECK(drafter->draft(Ids{1}, 3, sampler).empty());
  CHECK_THROWS_WITH(named_drafter("ngram:1"),
                    ("speculate: expected ngram, or ngram:N with N from 2 to 64, got "
                     "'ngram:1'"));
  CHECK_THROWS_AS(named_drafter("ngrams"), Error);
  CHECK(named_drafter("ngram:5") != nullptr);
}

TEST_CASE("[speculation] wrong guesses make pauses that grow") {
  DraftLength length;
  Index guessed = 0;
  for (Index step = 0; step < 1000; ++step) {
    if (const Index count = length.next()) {
      ++guessed;
      length.learn(count, 0);
    }
  }
  CHECK(guessed <= 36);
  while (length.next() == 0) {
  }
  length.learn(3, 3);
  CHECK(length.next() == 6);
  length.learn(6, 6);
  CHECK(length.next() == 12);
  length.learn(12, 12);
  CHECK(length.next() == 15);
  length.learn(15, 4);
  CHECK(length.next() == 5);
}

TEST_CASE("[speculation] a model with other tokens is refused") {
  const auto model = lively_model(257, 64);
  Decoder decoder(*model);
  CHECK_THROWS_WITH(model_drafter(decoder, ByteTokenizer(), WordTokenizer()),
                    contains_text("expected a model with the same tokenizer"));
}

TEST_CASE("[speculation] a step reads several tokens of a sequence") {
  const auto model = lively_model(257, 64);
  Decoder decoder(*model);
  KeyValueCache one = decoder.make_cache();
  KeyValueCache together = decoder.make_cache();
  std::vector<std::vector<float>> logits;
  for (const std::int32_t id : {65, 66, 67}) {
    const DecodeItem item{id, &one};
    decoder.step({&item, 1});
    logits.emplace_back(decoder.logits(0).begin(), decoder.logits(0).end());
  }
  const std::vector<DecodeItem> items{{65, &together, 0}, {66, &together, 1}, {67, &together, 2}};
  decoder.step(items);
  for (Index i = 0; i < 3; ++i) {
    const auto found = decoder.logits(i);
    CHECK(std::vector(found.begin(), found.end()) == logits[static_cast<std::size_t>(i)]);
  }
  CHECK(together.length() == 3);
  together.truncate(1);
  const DecodeItem again{66, &together};
  decoder.step({&again, 1});
  CHECK(std::vector(decoder.logits(0).begin(), decoder.logits(0).end()) == logits[1]);
  CHECK_THROWS_AS(together.truncate(3), Error);
  const std::vector<DecodeItem> unordered{{65, &together, 1}};
  CHECK_THROWS_WITH(decoder.step(unordered), contains_text("items before item 0"));
}
}  // namespace speculation_test
