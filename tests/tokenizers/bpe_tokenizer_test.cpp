#include "support/models/byte_vocabulary.h"
#include "support/test.h"

namespace bpe_tokenizer_test {
// Ids: the bytes are 0 ... 255, <|endoftext|> is 256, `tokens` follow from 257.
BpeVocabulary vocabulary(const std::vector<std::string>& tokens,
                         const std::vector<BpeMerge>& merges) {
  BpeVocabulary result = byte_vocabulary();
  result.tokens.insert(result.tokens.end(), tokens.begin(), tokens.end());
  result.merges = merges;
  return result;
}

BpeTokenizer tokenizer(const std::vector<std::string>& tokens,
                       const std::vector<BpeMerge>& merges) {
  return BpeTokenizer(vocabulary(tokens, merges));
}

std::string refusal(BpeVocabulary refused) {
  return error_of([&] { const BpeTokenizer taken(std::move(refused), "v"); });
}

// Reference implementation, quadratic: merges the pair of lowest rank, the leftmost first.
Ids merged_by_definition(const BpeVocabulary& known, std::string_view piece) {
  Ids ids(piece.begin(), piece.end());
  const auto joined = [&](const BpeMerge& merge) {
    return known.tokens[static_cast<std::size_t>(merge.left)] +
           known.tokens[static_cast<std::size_t>(merge.right)];
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t rank = 0; rank < known.merges.size() && !changed; ++rank) {
      const BpeMerge& merge = known.merges[rank];
      for (std::size_t i = 0; i + 1 < ids.size() && !changed; ++i) {
        changed = ids[i] == merge.left && ids[i + 1] == merge.right;
        if (changed) {
          const auto token = std::find(known.tokens.begin(), known.tokens.end(), joined(merge));
          ids[i] = static_cast<std::int32_t>(token - known.tokens.begin());
          ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
    }
  }
  return ids;
}

// Makes merges of random pairs; several may give the same token.
BpeVocabulary random_vocabulary(std::mt19937& random, std::size_t count) {
  BpeVocabulary result = vocabulary({}, {});
  Ids known = {'a', 'b', 'c'};
  while (result.merges.size() < count) {
    const BpeMerge merge{known[random() % known.size()], known[random() % known.size()]};
    const bool twice = std::any_of(
        result.merges.begin(), result.merges.end(),
        [&](const BpeMerge& m) { return m.left == merge.left && m.right == merge.right; });
    const std::string token = result.tokens[static_cast<std::size_t>(merge.left)] +
                              result.tokens[static_cast<std::size_t>(merge.right)];
    if (twice || token.size() > 6) {
      continue;
    }
    result.merges.push_back(merge);
    if (std::find(result.tokens.begin(), result.tokens.end(), token) == result.tokens.end()) {
      known.push_back(static_cast<std::int32_t>(result.tokens.size()));
      result.tokens.push_back(token);
    }
  }
  std::shuffle(result.merges.begin(), result.merges.end(), random);
  return result;
}

std::string random_text(std::mt19937& random, std::size_t length, std::string_view letters) {
  std::string text(length, ' ');
  for (char& c : text) {
    c = letters[random() % letters.size()];
  }
  return text;
}

TEST_CASE("the merge of the lowest rank is applied first at any position") {
  // "bc" merges before "ab": abc becomes a + bc, and these two merge.
  const auto bpe = tokenizer({"bc", "ab", "abc"}, {{'b', 'c'}, {'a', 'b'}, {'a', 257}});
  CHECK(bpe.kind() == "bpe");
  CHECK(bpe.vocab_size() == 260);
  CHECK(bpe.encode("abc") == Ids{259});
  CHECK(bpe.encode("abb") == Ids{258, 'b'});
  CHECK(bpe.encode("xbcx") == Ids{'x', 257, 'x'});
  CHECK(bpe.encode("").empty());
}

TEST_CASE("equal neighbours merge from the left") {
  const auto bpe = tokenizer({"aa", "aaaa"}, {{'a', 'a'}, {257, 257}});
  CHECK(bpe.encode("aaa") == Ids{257, 'a'});
  CHECK(bpe.encode("aaaaaaa") == Ids{258, 257, 'a'});
}

TEST_CASE("nothing merges across pieces") {
  const auto bpe = tokenizer({"a ", " a", "a!"}, {{'a', ' '}, {' ', 'a'}, {'a', '!'}});
  CHECK(bpe.encode("a a!") == Ids{'a', 258, '!'});
  CHECK(bpe.encode("a  a") == Ids{'a', ' ', 258});
}

TEST_CASE("long and short pieces agree with the definition of BPE for random merges") {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    const BpeVocabulary known = random_vocabulary(random, 30);
    const BpeTokenizer bpe(known);
    for (const std::size_t length : {2U, 3U, 7U, 20U, 63U, 64U, 65U, 66U, 150U}) {
      const std::string piece = random_text(random, length, "abc");
      REQUIRE(bpe.encode(piece) == merged_by_definition(known, piece));
    }
  }
}

TEST_CASE("a repeated piece gets the same ids") {
  std::mt19937 random(2);
  const BpeTokenizer bpe(random_vocabulary(random, 40));
  const std::string text = random_text(random, 20000, "aabbcc  '.");
  Ids expected;
  std::size_t begin = 0;
  while (begin < text.size()) {  // one piece at a time, so that no piece is cached
    const std::size_t length = bpe_piece_length(std::string_view(text).substr(begin));
    const Ids ids = bpe.encode(text.substr(begin, length));
    expected.insert(expected.end(), ids.begin(), ids.end());
    begin += length;
  }
  CHECK(bpe.encode(text) == expected);
}

TEST_CASE("a piece of a million letters does not take quadratic time") {
  const auto bpe = tokenizer({"aa", "aaaa"}, {{'a', 'a'}, {257, 257}});
  const Ids ids = bpe.encode(std::string(1000002, 'a'));
  REQUIRE(ids.size() == 250001);
  CHECK(ids.front() == 258);
  CHECK(ids.back() == 257);
}

TEST_CASE("the number of threads does not change ids") {
  std::mt19937 random(3);
  const BpeTokenizer bpe(random_vocabulary(random, 40));
  const std::string text = random_text(random, 3000000, "aabbcc  \n'.1");
  const Ids expected = bpe.encode(text);
  for (const int count : {1, 2, 3}) {
    const ThreadScope scope(count);
    CHECK(bpe.encode_bytes(text, {.parallel = true}) == expected);
  }
  CHECK(bpe.encode_bytes("", {.parallel = true}).empty());
}

TEST_CASE("special tokens are read on several threads also if their names contain blanks") {
  BpeVocabulary known = vocabulary({"", "ab", " b"}, {{'a', 'b'}, {' ', 'b'}});
  known.special.push_back({"<a b>", 257});
  const BpeTokenizer bpe(known);
  std::string text;
  Ids expected;
  for (int i = 0; i < 400000; ++i) {
    text += i % 3 == 0 ? "ab b<a b>" : "ab  b";
    const Ids ids = i % 3 == 0 ? Ids{258, 259, 257} : Ids{258, ' ', 259};
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  {
    const ThreadScope scope(2);
    CHECK(bpe.encode_bytes(text, {.read_special = true, .parallel = true}) == expected);
  }
  CHECK(bpe.encode_bytes(text, {.read_special = true}) == expected);
}

TEST_CASE("any bytes decode to what was encoded") {
  std::mt19937 random(4);
  BpeVocabulary known = random_vocabulary(random, 30);
  known.tokens.emplace_back("\xED\x95");
  known.merges.push_back({0xED, 0x95});
  const BpeTokenizer bpe(known);
  std::string bytes(100000, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  bytes += "abcabc\xED\x95\x9C\xED\x95";
  const Ids ids = bpe.encode_bytes(bytes);
  CHECK(bpe.decode_bytes(ids) == bytes);
  CHECK(ids.back() == static_cast<std::int32_t>(known.tokens.size()) - 1);
  CHECK_THROWS_WITH(bpe.encode("ab\xFF"), "[encode] text: invalid UTF-8 at byte 2");
  CHECK(bpe.decode(Ids{'a', 0xFF}) == "a\xEF\xBF\xBD");
}

TEST_CASE("special tokens are read from a text only on demand, the longest first") {
  BpeVocabulary known = vocabulary({"", "", "ab"}, {{'a', 'b'}});
  known.special.push_back({"<|x", 257});
  known.special.push_back({"<|x|>", 258});
  const BpeTokenizer bpe(known);
  CHECK(bpe.encode_bytes("ab<|x|>ab<|x<|endoftext|>", {.read_special = true}) ==
        Ids{259, 258, 259, 257, 256});
  CHECK(bpe.encode_bytes("<|endoftext", {.read_special = true}) == bpe.encode("<|endoftext"));
  CHECK(bpe.encode("<|x|>") == Ids{'<', '|', 'x', '|', '>'});
  // Before a special token, a run of blanks ends as at the end of a text.
  CHECK(bpe.encode_bytes("a  <|x", {.read_special = true}) == Ids{'a', ' ', ' ', 257});
  CHECK(bpe.encode_bytes("", {.read_special = true}).empty());
  CHECK(bpe.end_of_text() == 256);
  CHECK(bpe.decode(Ids{259, 258, 256}) == "ab");
  CHECK(bpe.token_label(258) == "<|x|>");
  CHECK(bpe.token_label(256) == "<|endoftext|>");
  CHECK(bpe.token_label(259) == "ab");
  CHECK(bpe.special_name(259).empty());
  CHECK(bpe.special_name(-1).empty());
  CHECK_THROWS_WITH(bpe.token_label(260), "[tokenizer] token id 260 is outside 0 ... 259");
}

TEST_CASE("a vocabulary whose tokens are not distinct or lack a byte is refused") {
  CHECK(refusal(vocabulary({"ab", "ab"}, {})) == "v: tokens 257 and 258 are both 'ab'");
  CHECK(refusal(vocabulary({"a"}, {})) == "v: tokens 97 and 257 are both 'a'");
  CHECK(refusal(vocabulary({""}, {})) == "v: token 257 is empty");
  BpeVocabulary known = vocabulary({}, {});
  known.tokens[65] = "AB";
  CHECK(refusal(known) == "v: no token for byte 65");
  CHECK(refusal({}) == "v: no token for byte 0");
}

TEST_CASE("merges with ids outside the vocabulary or without a resulting token are refused") {
  CHECK(refusal(vocabulary({"ab"}, {{'a', 258}})) ==
        "v: merge 0: id 258 is missing or a special token");
  CHECK(refusal(vocabulary({"ab"}, {{-1, 'a'}})) ==
        "v: merge 0: id -1 is missing or a special token");
  CHECK(refusal(vocabulary({"ab"}, {{'a', 256}})) ==
        "v: merge 0: id 256 is missing or a special token");
  CHECK(refusal(vocabulary({"ab"}, {{'a', std::numeric_limits<std::int32_t>::max()}})) ==
        "v: merge 0: id 2147483647 is missing or a special token");
  CHECK(refusal(vocabulary({"ab"}, {{'b', ' '}})) ==
        "v: merge 0 gives 'b\xC4\xA0', which is not a token");
}

TEST_CASE("special tokens without a name or id and those that share one are refused") {
  const auto with = [](std::vector<SpecialToken> special) {
    BpeVocabulary known = vocabulary({"ab", ""}, {});
    known.special = std::move(special);
    return refusal(known);
  };
  const SpecialToken end{"<|endoftext|>", 256};
  CHECK(with({end, {"x", 259}}) == "v: special token 'x' has id 259, but there are 259 tokens");
  CHECK(with({end, {"x", -1}}) == "v: special token 'x' has id -1, but there are 259 tokens");
  CHECK(with({end, {"x", 256}}) == "v: two special tokens have id 256");
  CHECK(with({end, {"x", 257}}) == "v: token 257 is special, but has bytes");
  CHECK(with({end}) == "v: token 258 is empty");
  CHECK(with({end, {"", 258}}) == "v: a special token has no name");
  CHECK(with({end, {"<|endoftext|>", 258}}) == "v: special token '<|endoftext|>' appears twice");
  CHECK(with({end, {"ab", 258}}) == "v: special token 'ab' has the name of another token");
  CHECK(with({end, {"\xFF", 258}}) == "v: special token 258: invalid UTF-8 at byte 0");
  CHECK(with({{"<y>", 256}, {"<x>", 258}}) == "v: special token <|endoftext|> is missing");
  CHECK(with({end, {"<x>", 258}}) == "no error");
}
}  // namespace bpe_tokenizer_test
