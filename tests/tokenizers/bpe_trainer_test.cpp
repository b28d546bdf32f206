#include "support/test.h"

namespace bpe_trainer_test {
using Merges = std::vector<std::pair<std::int32_t, std::int32_t>>;

// Two stories, one in English and one in Korean.
const std::string kStories =
    "Pig and Hare sat down near the river."
    " \"How many ducks can you see on the pond?\" Pig asked."
    " Hare looked and looked."
    " \"One, two, three, four, five, six,\" said Hare."
    " \"There are six ducks.\" Just then two of them went away."
    " \"Six take away two leaves four,\" said Pig."
    " \"Now there are four ducks.\" Then they went home and counted the stars.\n\n아침에 비가 "
    "왔어요."
    " 민지는 우산이 없었어요."
    " 그때 지안이 민지에게 말했어요."
    " \"이 우산을 가지고 가.\" 그리고 지안이 민지에게 빨간 우산을 주었어요."
    " 아침에 민지는 지안에게 빨간 우산을 다시 가지고 갔어요."
    " (떡도 하나 주었어요.) 지안이 문 옆에서 웃었어요.\n";

// Merges that tokenizers 0.23.3 learns from kStories with vocab_size 330, min_frequency 0, the
// special token <|endoftext|> and ByteLevel's alphabet.
const Merges kStoryMerges{
    {221, 169}, {221, 84},  {101, 223}, {169, 246}, {221, 168}, {72, 69},   {82, 69},   {109, 169},
    {221, 65},  {231, 169}, {113, 169}, {167, 109}, {221, 83},  {245, 267}, {249, 243}, {258, 262},
    {270, 271}, {169, 259}, {221, 2},   {260, 239}, {79, 85},   {169, 244}, {252, 113}, {266, 273},
    {69, 68},   {78, 68},   {108, 121}, {118, 102}, {221, 68},  {221, 70},  {221, 268}, {225, 264},
    {249, 264}, {257, 259}, {257, 289}, {260, 280}, {261, 283}, {290, 278}, {291, 288}, {293, 274},
    {14, 2},    {40, 65},   {48, 73},   {67, 75},   {73, 88},   {75, 281},  {78, 84},   {79, 87},
    {85, 300},  {86, 69},   {87, 79},   {111, 235}, {112, 255}, {167, 308}, {167, 309}, {221, 76},
    {221, 298}, {252, 227}, {258, 307}, {265, 282}, {266, 279}, {269, 65},  {276, 310}, {277, 82},
    {285, 305}, {286, 320}, {287, 223}, {294, 317}, {295, 314}, {299, 71},  {313, 263}, {321, 83},
    {12, 2}};

Merges merges_of(const BpeVocabulary& vocabulary) {
  Merges merges;
  for (const BpeMerge& merge : vocabulary.merges) {
    merges.emplace_back(merge.left, merge.right);
  }
  return merges;
}

BpeVocabulary learn(std::string_view text, BpeTrainerOptions options) {
  BpeTrainer trainer(std::move(options));
  trainer.feed(text);
  return trainer.finish();
}

std::string refusal(const BpeTrainerOptions& options) {
  return error_of([&] { options.validate(); });
}

// Returns random words of a few syllables in lines of different lengths.
std::string babble(std::size_t words) {
  std::string text;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < words; ++i) {
    for (std::uint32_t part = 0; part <= i % 4; ++part) {
      state = state * 1664525U + 1013904223U;
      text += std::array{"lo", "la", "\xEB\x82\x98", "12", "!?", "o"}[(state >> 16) % 6];
    }
    text += i % 7 == 0 ? "\n\n  " : " ";
  }
  return text;
}

TEST_CASE("the most frequent pair is merged first with ties broken by the smaller ids") {
  // Ids: <|endoftext|> 0, then '!' 1 ... 'b' 66, 'h' 72, 'p' 80, 's' 83, 'u' 85, blank 221.
  // "ug" occurs 3 times; "h" "ug", "u" "n" and " " "p" occur twice; other pairs once.
  const BpeVocabulary vocabulary = learn("hug pug pun bun hugs", {.vocab_size = 300});
  CHECK(merges_of(vocabulary) == Merges{{85, 71},     // 257 ug
                                        {72, 257},    // 258 hug
                                        {85, 78},     // 259 un
                                        {221, 80},    // 260 " p"
                                        {66, 259},    // 261 bun
                                        {221, 258},   // 262 " hug"
                                        {221, 261},   // 263 " bun"
                                        {260, 257},   // 264 " pug"
                                        {260, 259},   // 265 " pun"
                                        {262, 83}});  // 266 " hugs"
  REQUIRE(vocabulary.tokens.size() == 267);
  CHECK(vocabulary.tokens[0].empty());
  CHECK(vocabulary.tokens[1] == "!");
  CHECK(vocabulary.tokens[94] == "~");
  CHECK(vocabulary.tokens[95] == "\xA1");
  CHECK(vocabulary.tokens[188] == "\xFF");
  CHECK(vocabulary.tokens[189] == std::string(1, '\0'));
  CHECK(vocabulary.tokens[256] == "\xAD");
  CHECK(vocabulary.tokens[257] == "ug");
  CHECK(vocabulary.tokens[266] == " hugs");
}

TEST_CASE("the merges of an English and a Korean story are those of Hugging Face") {
  CHECK(merges_of(learn(kStories, {.vocab_size = 330})) == kStoryMerges);
}

TEST_CASE("training reports the share of the learned tokens") {
  BpeTrainer trainer({.vocab_size = 261});  // 257 before the first merge
  trainer.feed("abcdefgh abcdefgh");
  std::vector<double> shares;
  trainer.finish([&](double share) { shares.push_back(share); });
  CHECK(shares == std::vector<double>{.25, .5, .75, 1});
}

TEST_CASE("training stops at the size of the vocabulary or at the least frequency") {
  const BpeVocabulary small = learn(kStories, {.vocab_size = 260});
  CHECK(small.tokens.size() == 260);
  CHECK(merges_of(small) == Merges(kStoryMerges.begin(), kStoryMerges.begin() + 3));
  // "ug" is the only pair that occurs three times.
  CHECK(merges_of(learn("hug pug pun bun hugs", {.vocab_size = 300, .min_frequency = 3})) ==
        Merges{{85, 71}});
  CHECK(learn("", {.vocab_size = 300}).tokens.size() == 257);
}

TEST_CASE("special tokens have the first ids and are plain text to the trainer") {
  const BpeVocabulary vocabulary =
      learn("<|pad|><|pad|>",
            {.vocab_size = 259, .special_names = {"<|pad|>", std::string(kEndOfTextName)}});
  REQUIRE(vocabulary.special.size() == 2);
  CHECK(vocabulary.special[0].name == "<|pad|>");
  CHECK(vocabulary.special[0].id == 0);
  CHECK(vocabulary.special[1].name == kEndOfTextName);
  CHECK(vocabulary.special[1].id == 1);
  CHECK(vocabulary.tokens[2] == "!");
  // Pieces: <| pad |><| pad |>. Of the most frequent pairs, "<" "|" has the smallest ids.
  CHECK(vocabulary.tokens[258] == "<|");
}

TEST_CASE("training gives the same merges for any split of the text and any number of threads") {
  const std::string text = babble(40000);
  const BpeVocabulary whole = learn(text, {.vocab_size = 600});
  CHECK(whole.tokens.size() == 600);
  set_thread_count(3);
  CHECK(merges_of(learn(text, {.vocab_size = 600})) == merges_of(whole));
  set_thread_count(1);
  BpeTrainer trainer({.vocab_size = 600});
  for (const std::string_view segment : split_between_pieces(text, 1000)) {
    trainer.feed(segment);
  }
  CHECK(merges_of(trainer.finish()) == merges_of(whole));
}

TEST_CASE("texts fed line by line give no tokens across line ends") {
  const std::string text = "a\n\n\n\na\n\n\n\na";
  // In the whole text, white space is cut into "\n\n\n" and "\n" each time.
  CHECK(learn(text, {.vocab_size = 300}).tokens.back() == "\n\n\n");
  BpeTrainer trainer({.vocab_size = 300});
  trainer.feed_lines(text);
  CHECK(trainer.finish().merges.size() == 0);
  BpeTrainer lines({.vocab_size = 300});
  lines.feed_lines("  ab\n  ab");
  CHECK(lines.finish().tokens.back() == " ab");
}

TEST_CASE("a trainer can be used again after it has finished") {
  BpeTrainer trainer({.vocab_size = 300});
  trainer.feed("xyxyxy");
  CHECK(trainer.finish().tokens.back() == "xyxyxy");
  trainer.feed("ab");
  const BpeVocabulary second = trainer.finish();
  CHECK(second.tokens.size() == 258);
  CHECK(second.tokens.back() == "ab");
}

TEST_CASE("options that allow no vocabulary are refused by name") {
  const std::string end(kEndOfTextName);
  CHECK(refusal({.vocab_size = 257}) == "no error");
  CHECK(refusal({.vocab_size = 256}) ==
        "vocab_size: expected at least 257 (256 bytes and 1 special tokens), got 256");
  CHECK(refusal({.vocab_size = Index{1} << 31}) ==
        "vocab_size: expected at most 2147483647, got 2147483648");
  CHECK(refusal({.min_frequency = -1}) == "min_frequency: expected at least 0, got -1");
  CHECK(refusal({.special_names = {}}) == "special_names: expected <|endoftext|> among them");
  CHECK(refusal({.special_names = {end, ""}}) == "special_names: expected names, got an empty one");
  CHECK(refusal({.special_names = {end, end}}) == "special_names: '<|endoftext|>' appears twice");
  CHECK(refusal({.special_names = {end, "\xFF!"}}) == "special_names: invalid UTF-8 at byte 0");
  const std::string learnable = " could also be learned from text; choose a name like <|pad|>";
  CHECK(refusal({.special_names = {end, "pad"}}) == "special_names: 'pad'" + learnable);
  // The token " ." in byte characters.
  CHECK(refusal({.special_names = {end, "\xC4\xA0."}}) == "special_names: '\xC4\xA0.'" + learnable);
  CHECK_THROWS_WITH(BpeTrainer({}).feed("ab\xFF"), "text: invalid UTF-8 at byte 2");
}

TEST_CASE("whole characters are tokens before any pair of them") {
  // The syllables share leading bytes, and each is rarer than the pair "ab".
  const std::string text = "abababab 각간 갇갈 값 é";
  const auto token = [](const BpeVocabulary& vocabulary, std::string_view bytes) {
    return std::ranges::count(vocabulary.tokens, bytes);
  };
  CHECK(token(learn(text, {.vocab_size = 260}), "값") == 0);  // three merges, none for a syllable
  // <|endoftext|>, 256 bytes, the two leading bytes of all syllables, 5 syllables, é, and "ab".
  const BpeVocabulary whole = learn(text, {.vocab_size = 265, .whole_characters = true});
  for (const std::string_view character : {"각", "간", "갇", "갈", "값", "é"}) {
    CHECK(token(whole, character) == 1);
  }
  const BpeTokenizer tokenizer(whole);
  for (const std::int32_t id : tokenizer.encode(text)) {
    const std::string& bytes = whole.tokens[static_cast<std::size_t>(id)];
    INFO(bytes);
    CHECK(valid_utf8_prefix(bytes) == bytes.size());
  }
  CHECK(tokenizer.decode(tokenizer.encode("값비싼 각")) == "값비싼 각");
  check_error([&] { learn(text, {.vocab_size = 260, .whole_characters = true}); },
              {"vocab_size", "whole_characters", "260"});
}
}  // namespace bpe_trainer_test
