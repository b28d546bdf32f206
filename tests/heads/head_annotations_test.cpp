#include "headlight/heads/head_annotations.h"

#include "headlight/data/documents.h"
#include "headlight/text/byte_tokenizer.h"
#include "headlight/text/char_tokenizer.h"
#include "headlight/text/text_file.h"
#include "support/catch.h"
#include "support/program.h"
#include "support/tensors.h"

// Known pairs of places, counted in tokens.
using namespace headlight;
using namespace headlight::test;

namespace {

const std::string kLine =
    R"({"char":{"length":5,"quote":[[0,1,3,4]]},"byte":{"length":6,"quote":[[0,1,4,5]]}})";

std::vector<SequencePairs> read(const std::string& contents, const std::vector<std::string>& texts,
                                const Tokenizer& tokenizer, Index leading = 0) {
  const ScratchFolder folder;
  return read_annotations(folder.write("pairs.jsonl", contents), texts, tokenizer, leading);
}

std::string refusal(const std::string& contents, const std::vector<std::string>& texts = {"abc"}) {
  return error_of([&] { read(contents, texts, ByteTokenizer()); });
}

}  // namespace

TEST_CASE("annotations are counted in characters or bytes as the tokenizer cuts", "[heads]") {
  const std::string text = "'a\xC3\xA9'b";  // the third character takes two bytes
  const auto bytes = read(kLine + "\n", {text}, ByteTokenizer());
  REQUIRE(bytes.size() == 1);
  REQUIRE(bytes[0].of(PairKind::quote).size() == 1);
  CHECK(bytes[0].of(PairKind::quote)[0].earlier_begin == 0);
  CHECK(bytes[0].of(PairKind::quote)[0].later_begin == 4);
  CHECK(bytes[0].of(PairKind::quote)[0].later_end == 5);
  CHECK(bytes[0].of(PairKind::name).empty());
  const auto characters = read(kLine, {text}, CharTokenizer({U'\'', U'a', U'\u00E9', U'b'}), 1);
  CHECK(characters[0].of(PairKind::quote)[0].earlier_begin == 1);
  CHECK(characters[0].of(PairKind::quote)[0].later_begin == 4);
}

TEST_CASE("the pairs of the toy corpus lie on the delimiters they name", "[heads]") {
  const std::string data = HEADLIGHT_SOURCE_DIR "/data/";
  const auto texts =
      split_documents(read_text_file(data + "toy.txt"), {.mode = DocumentSplit::blank_line});
  const auto pairs = read_annotations(data + "toy.annotations.jsonl", texts, ByteTokenizer(), 0);
  REQUIRE(pairs.size() == 1500);
  std::size_t brackets = 0;
  bool all_match = true;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const TokenPair& pair : pairs[i].of(PairKind::bracket)) {
      all_match = all_match && texts[i][static_cast<std::size_t>(pair.earlier_begin)] == '(' &&
                  texts[i][static_cast<std::size_t>(pair.later_begin)] == ')';
      ++brackets;
    }
  }
  CHECK(all_match);
  CHECK(brackets == 752);  // data/README.md
}

TEST_CASE("annotations that do not fit the documents are refused in one line", "[heads]") {
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
}
