#include "support/test.h"

using Texts = std::vector<std::string>;

Texts split(std::string_view text, DocumentSplit mode) { return split_documents(text, {mode}); }

TEST_CASE("without a split the whole text is one document, unchanged") {
  CHECK(split("\n a\n\nb\n", DocumentSplit::none) == Texts{"\n a\n\nb\n"});
}

TEST_CASE("every line is a document and blank lines are none") {
  CHECK(split("one\n two \n\n \t\nthree", DocumentSplit::line) == Texts{"one", " two ", "three"});
  CHECK(split("one\r\ntwo\r\n", DocumentSplit::line) == Texts{"one", "two"});
}

TEST_CASE("blank lines separate documents of several lines") {
  CHECK(split("\n\na\nb\n\nc\n \t \n\n  d\ne\n", DocumentSplit::blank_line) ==
        Texts{"a\nb", "c", "  d\ne"});
  CHECK(split("a\r\n\r\nb", DocumentSplit::blank_line) == Texts{"a", "b"});
  CHECK(split("a", DocumentSplit::blank_line) == Texts{"a"});
}

TEST_CASE("a separator text splits documents and the line ends around them are removed") {
  CHECK(split("a\nb\n<|endoftext|>\nc<|endoftext|><|endoftext|>\n\n<|endoftext|>d",
              DocumentSplit::token) == Texts{"a\nb", "c", "d"});
  CHECK(split_documents("a---b", {DocumentSplit::token, "--"}) == Texts{"a", "-b"});
  CHECK(split_documents("abc", {DocumentSplit::token, "abcd"}) == Texts{"abc"});
}

TEST_CASE("a text without any document is refused in every mode") {
  const std::string message = "documents: expected at least one document in the text, got none";
  CHECK_THROWS_WITH(split("", DocumentSplit::none), message);
  CHECK_THROWS_WITH(split("\n \n", DocumentSplit::line), message);
  CHECK_THROWS_WITH(split("", DocumentSplit::blank_line), message);
  CHECK_THROWS_WITH(split("<|endoftext|>\n<|endoftext|>", DocumentSplit::token), message);
  check_error([&] { split_documents("a", {DocumentSplit::token, ""}); }, {"separator", "got none"});
}

TEST_CASE("a separator that is not UTF-8 is refused because it could split characters") {
  CHECK_THROWS_WITH(split_documents("\xEA\xB0\x80", {DocumentSplit::token, "\xB0"}),
                    "separator: invalid UTF-8 at byte 0");
}
