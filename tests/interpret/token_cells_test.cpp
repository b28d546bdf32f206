#include "headlight/interpret/token_cells.h"
#include "base/transformed.h"
#include "headlight/interpret/record_attention.h"
#include "headlight/interpret/scores/head_scores.h"
#include "support/test.h"

using Labels = std::vector<std::string>;

std::vector<TokenCell> cells_of(const std::string& text, TextUnit unit) {
  const ByteTokenizer tokenizer;
  return token_cells(tokenizer, tokenizer.encode(text), unit);
}

Labels labels_of(const std::string& text, TextUnit unit) {
  return transformed(cells_of(text, unit), &TokenCell::label);
}

std::unique_ptr<Gpt> byte_model() {
  GptConfig config{.vocab_size = 257, .block_size = 128, .n_layer = 2, .n_head = 2, .n_embd = 16};
  auto gpt = std::make_unique<Gpt>(config);
  draw_normal(gpt->parameters(), 5, 0.1, 0.4);
  return gpt;
}

const std::string kSentence = "나는 너를 좋아하지만 너는 나를 모른다";

TEST_CASE("bytes of a text become its characters and words") {
  struct Case {
    std::string text;
    Labels words;
  };
  const std::vector<Case> cases{
      {kSentence, {"나는", " 너를", " 좋아하지만", " 너는", " 나를", " 모른다"}},
      {"I don't, he-man.", {"I", " don't", ",", " he-man", "."}},
      {"3.14, 1,000...", {"3.14", ",", " 1,000", "..."}},
      {"a \n\nb ", {"a", " ", "\n\n", "b", " "}},
      {"我学习 漢字です", {"我", "学", "习", " 漢", "字", "で", "す"}},
      {"\"너는.\"", {"\"", "너는", ".", "\""}},
      {"Cafe\u0301 na\u00EFve", {"Cafe\u0301", " na\u00EFve"}},
      {"\u1102\u1161\u1102\u1173\u11AB \u1102\u1165",
       {"\u1102\u1161\u1102\u1173\u11AB", " \u1102\u1165"}}};
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK(labels_of(one.text, TextUnit::word) == one.words);
    const std::vector<TokenCell> bytes = cells_of(one.text, TextUnit::token);
    CHECK(bytes.size() == one.text.size());
  }
  CHECK(labels_of("너 a", TextUnit::character) == Labels{"너", " ", "a"});
  CHECK(labels_of("e\u0301\u1102\u1161", TextUnit::character) == Labels{"e\u0301", "\u1102\u1161"});
}

TEST_CASE("special tokens and cut syllables are cells of their own") {
  const ByteTokenizer tokenizer;
  const std::int32_t end = tokenizer.end_of_text();
  const Ids ids{end, 'a', end, '.', 0xEB, 0x84, ' '};
  const std::vector<TokenCell> cells = token_cells(tokenizer, ids, TextUnit::word);
  CHECK(transformed(cells, &TokenCell::label) ==
        Labels{"<|endoftext|>", "a", "<|endoftext|>", ".", "<0xEB><0x84>", " "});
  CHECK(transformed(cells, &TokenCell::begin) == std::vector<Index>{0, 1, 2, 3, 4, 6});
  CHECK(cells_of_tokens(cells) == std::vector<Index>{0, 1, 2, 3, 4, 4, 5});
  CHECK(transformed(cells, &TokenCell::is_special) ==
        std::vector<bool>{true, false, true, false, false, false});
  CHECK(transformed(cells, &TokenCell::is_separator) ==
        std::vector<bool>{false, false, true, false, false, true});
  CHECK(transformed(cells, &TokenCell::is_punctuation) ==
        std::vector<bool>{false, false, false, true, false, false});
  CHECK(token_cells(tokenizer, {}, TextUnit::word).empty());
}

TEST_CASE("a token of several characters is not split") {
  // With a character tokenizer, every character is a token already.
  const CharTokenizer tokenizer({U'a', U' ', U'b'});
  const Ids ids = tokenizer.encode("ab ba");
  CHECK(token_cells(tokenizer, ids, TextUnit::character).size() == 5);
  CHECK(transformed(token_cells(tokenizer, ids, TextUnit::word), &TokenCell::label) ==
        Labels{"ab", " ba"});
}

TEST_CASE("merged weights are means over queries of sums over keys") {
  // Tokens 0 and 1 are one cell, token 2 is another.
  const Tensor weights =
      Tensor::from<float>({1.0F, 0, 0, 0.25F, 0.75F, 0, 0.5F, 0.125F, 0.375F}, {1, 3, 3});
  const Tensor merged = merged_weights(weights, {{0, 2}, {2, 3}});
  REQUIRE(merged.shape() == Shape{1, 2, 2});
  const std::vector<float> values(merged.data<float>(), merged.data<float>() + 4);
  CHECK(values == std::vector<float>{1.0F, 0.0F, 0.625F, 0.375F});
  const Tensor all = merged_weights(weights, {{0, 1}, {1, 3}});
  CHECK(all.data<float>()[2] == 0.375F);  // the mean of 0.25 and 0.5
  CHECK(all.data<float>()[3] == 0.625F);
  check_error([&] { merged_weights(weights, {{0, 2}}); }, {"2 tokens"});
}

TEST_CASE("maps of a Korean sentence by words have six rows and columns") {
  const auto model = byte_model();
  const RecordedAttention recorded =
      record_attention_batch(*model, ByteTokenizer(), {kSentence, "a b"}, {.unit = TextUnit::word});
  CHECK(recorded.longest() == 6);
  CHECK(recorded.layers[0].weights.shape() == Shape{2, 2, 6, 6});
  const AttentionMaps maps = recorded.maps(0);
  CHECK(maps.tokens[2] == " 좋아하지만");
  CHECK(maps.unit == TextUnit::word);
  const AttentionMaps plain = record_attention(*model, ByteTokenizer(), kSentence);
  const Tensor merged =
      merged_weights(plain.layers[1].weights, cells_of(kSentence, TextUnit::word));
  CHECK(same_bits(maps.layers[1].weights, merged));
  check_error(
      [&] {
        record_attention_batch(*model, ByteTokenizer(), {"a"},
                               {.vectors = true, .unit = TextUnit::word});
      },
      {"unit = token"});
}

TEST_CASE("maps for readers join the tokens that cut a character") {
  const auto model = byte_model();
  const ByteTokenizer tokenizer;
  const RecordedAttention recorded = record_attention_batch(*model, tokenizer, {"너 a", "a b"});
  const AttentionMaps whole = recorded.whole_maps(0, tokenizer, "title");
  CHECK(whole.tokens == Labels{"너", " ", "a"});
  CHECK(whole.unit == TextUnit::character);
  CHECK(whole.title == "title");
  const AttentionMaps plain = recorded.maps(0);
  CHECK(plain.tokens.size() == 5);
  // The syllable has three of the five tokens: means over its queries of sums over its keys.
  const std::vector<double> all = select(plain.layers[1].weights, 0, 0).to_vector();
  const std::vector<double> joined = select(whole.layers[1].weights, 0, 0).to_vector();
  CHECK(joined[0] == Approx(1));
  CHECK(joined[6] == Approx(all[20] + all[21] + all[22]));
  const AttentionMaps english = recorded.whole_maps(1, tokenizer);
  CHECK(english.unit == TextUnit::token);
  CHECK(same_bits(english.layers[0].weights, recorded.maps(1).layers[0].weights));
  const RecordedAttention vectors =
      record_attention_batch(*model, tokenizer, {"너 a"}, {.vectors = true});
  CHECK(vectors.whole_maps(0, tokenizer).tokens.size() == 5);
}

TEST_CASE("scores of words use merged weights and pairs of words") {
  const auto model = byte_model();
  const ByteTokenizer tokenizer;
  const std::string text = "ab cd, ab";
  HeadScoreOptions options;
  options.repeats.sequences = 0;
  options.bootstrap.resamples = 0;
  options.tokenizer = &tokenizer;
  options.unit = TextUnit::word;
  options.annotations.resize(1);
  options.annotations[0]["modifier"] = {{0, 1, 7, 9}, {3, 4, 4, 5}};  // the second shares a word
  const HeadScores scores = score_heads(*model, {tokenizer.encode(text)}, options);
  REQUIRE(scores.list.size() == score_list().size() + 2);
  CHECK(scores.list[score_list().size()].name == "modifier");
  CHECK(scores.list.back().name == "modifier_ahead");
  const AttentionMaps plain = record_attention(*model, tokenizer, text);
  const std::vector<TokenCell> cells = cells_of(text, TextUnit::word);  // ab _cd , _ab
  for (const ScoredHead& head : scores.heads) {
    const Tensor merged =
        merged_weights(plain.layers[static_cast<std::size_t>(head.head.layer)].weights, cells);
    const float* weight = merged.data<float>() + head.head.head * 16;
    CHECK(head.score("previous_token").value.mean ==
          Approx((weight[4] + weight[9] + weight[14]) / 3).margin(1e-6));
    CHECK(head.score("punctuation").value.mean ==
          Approx((weight[10] + weight[14]) / 2).margin(1e-6));
    CHECK_FALSE(head.score("special_token").measured());
    CHECK_FALSE(head.score("separator").measured());
    CHECK(head.scores[score_list().size()].value.mean == Approx(weight[12]).margin(1e-6));
    CHECK(head.scores.back().value.mean == Approx(weight[8]).margin(1e-6));
  }
  options.annotations[0].clear();
  options.annotations[0]["entropy"] = {};
  check_error([&] { score_heads(*model, {{1}}, options); }, {"entropy"});
  options.annotations.clear();
  options.tokenizer = nullptr;
  check_error([&] { score_heads(*model, {{1}}, options); }, {"tokenizer"});
}

TEST_CASE("special tokens and separators are scored where a query sees one") {
  const auto model = byte_model();
  const ByteTokenizer tokenizer;
  const std::int32_t end = tokenizer.end_of_text();
  HeadScoreOptions options;
  options.repeats.sequences = 0;
  options.bootstrap.resamples = 0;
  options.tokenizer = &tokenizer;
  const Ids ids{end, 'a', ' ', 'b'};
  const HeadScores scores = score_heads(*model, {ids}, options);
  const Tensor weights = record_attention_of_ids(*model, tokenizer, {ids}).layers[0].weights;
  const float* weight = weights.data<float>();
  CHECK(scores.heads[0].score("special_token").value.mean ==
        Approx((weight[4] + weight[8] + weight[12]) / 3).margin(1e-6));
  CHECK(scores.heads[0].score("separator").value.mean ==
        Approx((weight[10] + weight[14]) / 2).margin(1e-6));
  CHECK_FALSE(scores.heads[0].score("punctuation").measured());
}
