#include "headlight/interpret/scores/head_annotations.h"
#include "support/models/byte_vocabulary.h"
#include "support/test.h"

namespace head_annotations_test {
// Annotated pairs of spans, converted to tokens.

const std::string kLine =
    R"({"char":{"length":5,"quote":[[0,1,3,4]]},"byte":{"length":6,"quote":[[0,1,4,5]]}})";

std::vector<SequencePairs> read(const std::string& contents, const std::vector<std::string>& texts,
                                const Tokenizer& tokenizer, Index leading = 0) {
  const TemporaryFolder folder;
  return read_annotations(folder.write("pairs.jsonl", contents), texts, tokenizer, leading);
}

std::string refusal(const std::string& contents, const std::vector<std::string>& texts = {"abc"}) {
  return error_of([&] { read(contents, texts, ByteTokenizer()); });
}

BpeTokenizer bpe_of(const std::vector<std::pair<std::string, std::string>>& merges) {
  return BpeTokenizer(byte_vocabulary({"<|endoftext|>"}, merges));
}

// Pairs of one kind in a text, each as its four ends.
std::vector<std::array<Index, 4>> ends_of(const std::string& text, const std::string& relation,
                                          const std::string& spans, const Tokenizer& tokenizer) {
  const std::string line = R"({"byte":{"length":)" + std::to_string(text.size()) + ",\"" +
                           relation + "\":[" + spans + "]}}";
  std::vector<std::array<Index, 4>> result;
  const std::vector<SequencePairs> all = read(line, {text}, tokenizer);
  for (const TokenPair& pair : pairs_of(all[0], relation)) {
    result.push_back({pair.earlier_begin, pair.earlier_end, pair.later_begin, pair.later_end});
  }
  return result;
}

using Ends = std::vector<std::array<Index, 4>>;

TEST_CASE("spans include tokens of several characters that they overlap") {
  const BpeTokenizer words =
      bpe_of({{".", "\""}, {" ", "("}, {"k", "e"}, {"ke", "y"}, {" ", "key"}, {" ", "a"}});
  // Tokens: " a _key ." _( key ) _a _key, with _ for a blank.
  const std::string text = "\"a key.\" (key) a key";
  REQUIRE(words.encode(text).size() == 9);
  CHECK(ends_of(text, "quote", "[0,1,7,8]", words) == Ends{{0, 1, 3, 4}});
  CHECK(ends_of(text, "bracket", "[9,10,13,14]", words) == Ends{{4, 5, 6, 7}});
  CHECK(ends_of(text, "name", "[3,6,10,13],[10,13,17,20]", words) ==
        Ends{{2, 3, 5, 6}, {5, 6, 8, 9}});
  CHECK(ends_of(text, "quote", "[6,7,7,8]", words).empty());  // both in one token
}

TEST_CASE("spans include every token that shares bytes with a syllable") {
  const std::string text = "가나가";
  CHECK(ends_of(text, "name", "[0,3,6,9]", bpe_of({})) == Ends{{0, 3, 6, 9}});
  // The last byte of 가 and the first of 나 are one token.
  const BpeTokenizer halves = bpe_of({{"\x80", "\xEB"}});
  REQUIRE(halves.encode(text).size() == 8);
  CHECK(ends_of(text, "name", "[0,3,6,9]", halves) == Ends{{0, 3, 5, 8}});
}

TEST_CASE("a repeated phrase is aligned where the ends of its tokens match") {
  const BpeTokenizer words = bpe_of({{" ", "k"}, {" k", "e"}, {" ke", "y"}, {" ", "a"}});
  // Tokens: k e y _a . _key _a. The token after the later "key" is the fourth one after the
  // earlier.
  const std::string text = "key a. key a";
  REQUIRE(words.encode(text).size() == 7);
  CHECK(ends_of(text, "phrase", "[0,5,7,12]", words) == Ends{{2, 4, 5, 7}});
  // With equal tokens, one run covers the whole phrase, as with characters.
  CHECK(ends_of("xyz.xyz", "phrase", "[0,3,4,7]", words) == Ends{{0, 3, 4, 7}});
  CHECK(ends_of("x.x", "phrase", "[0,1,2,3]", words).empty());  // no next token
}

TEST_CASE("positions of annotations may count characters or bytes") {
  const std::string text = "'a\xC3\xA9'b";  // the third character takes two bytes
  const auto bytes = read(kLine + "\n", {text}, ByteTokenizer());
  REQUIRE(bytes.size() == 1);
  REQUIRE(pairs_of(bytes[0], "quote").size() == 1);
  CHECK(pairs_of(bytes[0], "quote")[0].earlier_begin == 0);
  CHECK(pairs_of(bytes[0], "quote")[0].later_begin == 4);
  CHECK(pairs_of(bytes[0], "quote")[0].later_end == 5);
  CHECK(pairs_of(bytes[0], "name").empty());
  const auto characters = read(kLine, {text}, CharTokenizer({U'\'', U'a', U'\u00E9', U'b'}), 1);
  CHECK(pairs_of(characters[0], "quote")[0].earlier_begin == 1);
  CHECK(pairs_of(characters[0], "quote")[0].later_begin == 4);
}

TEST_CASE("annotations may contain relations of any name") {
  const std::string text = "red key";
  const std::string line = R"({"byte":{"start":9,"length":7,"modifier":[[0,3,4,7]],"수식":[]}})";
  const std::vector<SequencePairs> all = read(line, {text}, ByteTokenizer(), 1);
  REQUIRE(all[0].size() == 2);  // "start" and "length" are no relations
  REQUIRE(pairs_of(all[0], "modifier").size() == 1);
  CHECK(pairs_of(all[0], "modifier")[0].earlier_begin == 1);
  CHECK(pairs_of(all[0], "modifier")[0].later_end == 8);
  CHECK(pairs_of(all[0], "수식").empty());
}

TEST_CASE("the pairs of the toy corpus lie on the delimiters they name", "[long]") {
  const std::string data = HEADLIGHT_SOURCE_DIR "/data/";
  const auto texts =
      split_documents(read_text_file(data + "toy.txt"), {.mode = DocumentSplit::blank_line});
  const auto pairs = read_annotations(data + "toy.annotations.jsonl", texts, ByteTokenizer(), 0);
  REQUIRE(pairs.size() == 3000);
  std::size_t brackets = 0;
  bool all_match = true;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const TokenPair& pair : pairs_of(pairs[i], "bracket")) {
      all_match = all_match && texts[i][static_cast<std::size_t>(pair.earlier_begin)] == '(' &&
                  texts[i][static_cast<std::size_t>(pair.later_begin)] == ')';
      ++brackets;
    }
  }
  CHECK(all_match);
  CHECK(brackets == 1504);  // data/README.md
}

TEST_CASE("documents are annotated with the end token's name, which they lose") {
  const BpeTokenizer tokenizer = bpe_of({{" ", " "}});
  const TemporaryFolder folder;
  const std::string file =
      folder.write("pairs.jsonl", R"({"byte":{"length":17,"quote":[[0,1,3,4]]}})");
  const std::vector<std::string> texts{"ab  <|endoftext|>"};
  const auto pair = [&](bool of_documents) {
    return pairs_of(read_annotations(file, texts, tokenizer, 0, of_documents)[0], "quote").at(0);
  };
  CHECK(pair(true).later_begin == 2);   // "a", "b", "  "
  CHECK(pair(false).later_begin == 3);  // a stream keeps the name: "a", "b", " ", " ", "<", ...
}

TEST_CASE("annotations that contradict the documents are refused in one line") {
  CHECK(mentions(refusal("{}\n{}\n"), {"1 documents", "2 lines"}));
  CHECK(mentions(refusal("{}"), {"pairs.jsonl:1", "byte"}));
  CHECK(mentions(refusal("{"), {"pairs.jsonl:1"}));
  CHECK(mentions(refusal(R"({"byte":{"length":4}})"), {"pairs.jsonl:1", "length", "3", "4"}));
  CHECK(mentions(refusal(R"({"byte":{"length":3,"quote":[[0,1,2]]}})"), {"quote", "[0,1,2]"}));
  CHECK(mentions(refusal(R"({"byte":{"length":3,"quote":[[0,1,2,"3"]]}})"), {"quote", "four"}));
  for (const char* spans : {"[0,1,2,4]", "[1,1,2,3]", "[0,2,1,3]", "[-1,1,2,3]", "[0,1,3,3]"}) {
    CHECK(mentions(refusal(R"({"byte":{"length":3,"quote":[)" + std::string(spans) + "]}}"),
                   {"quote", spans}));
  }
  CHECK(mentions(refusal(R"({"byte":{"length":3,"quote":7}})"), {"quote", "list"}));
  CHECK(mentions(refusal(R"({"byte":{"length":3},"modifier":[]})"), {":1", "modifier", "byte"}));
  CHECK(mentions(refusal(R"({"byte":{"length":3},"lnag":"en"})"), {"lnag", "lang"}));
  for (const char* name : {"", "a b", "a,b", "a>b", "mul.x"}) {
    CHECK(mentions(refusal(R"({"byte":{"length":3,")" + std::string(name) + "\":[]}}"),
                   {":1", "name", name}));
  }
}
}  // namespace head_annotations_test
