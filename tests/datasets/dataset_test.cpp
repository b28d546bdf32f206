#include "support/test.h"

Ids bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST_CASE("every window of a text begins with the token that begins texts") {
  constexpr std::int32_t kBegin = 99;
  const DocumentEnds ends(kBegin, 98);
  const TokenDataset stream = stream_dataset({1, 2, 3, 4, 5}, ends);
  CHECK(stream.token_count == 6);
  const SequencePieces pieces(stream, 2);
  REQUIRE(pieces.count() == 3);  // every id is a target once
  CHECK(pieces.tokens(0) == Ids{kBegin, 1, 2});
  CHECK(pieces.tokens(1) == Ids{kBegin, 3, 4});
  CHECK(pieces.tokens(2) == Ids{kBegin, 5});
  const TokenDataset documents = document_dataset({{1, 2, 3}}, ends);
  const SequencePieces parts(documents, 2);
  CHECK(parts.tokens(0) == Ids{kBegin, 1, 2});
  CHECK(parts.tokens(1) == Ids{kBegin, 3, 98});
  const DatasetSplit split = split_dataset(stream_dataset({1, 2, 3, 4, 5}, ends), 0.4);
  CHECK(token_ids(split.train) == std::vector<Ids>{{kBegin, 1, 2}});
  CHECK(token_ids(split.validation) == std::vector<Ids>{{kBegin, 3, 4, 5}});
  CHECK(split.train.token_count == 3);
  CHECK(split.validation.token_count == 4);
  CHECK(cut_windows({{kBegin, 1, 2, 3}, {kBegin, 4}}, kBegin, 3) ==
        std::vector<Ids>{{kBegin, 1, 2}, {kBegin, 3}, {kBegin, 4}});
  CHECK(cut_windows({{1, 2, 3}}, -1, 2) == std::vector<Ids>{{1, 2, 3}});
}

TEST_CASE("a stream is one sequence without special tokens") {
  const TokenDataset dataset = stream_dataset({5, 6, 7});
  CHECK(dataset.sequences == std::vector<TokenSequence>{{5, 6, 7}});
  CHECK(dataset.token_count == 3);
  CHECK_FALSE(dataset.documents);
  CHECK(dataset.end_of_text == -1);
  CHECK_THROWS_WITH(stream_dataset({}), "[stream_dataset] the stream has no tokens");
}

TEST_CASE("every document begins and ends with the end of text, empty ones are dropped") {
  const TokenDataset dataset = document_dataset({{5, 6}, {}, {7}}, 0);
  CHECK(dataset.sequences == std::vector<TokenSequence>{{0, 5, 6, 0}, {0, 7, 0}});
  CHECK(dataset.token_count == 7);
  CHECK(dataset.documents);
  CHECK(dataset.end_of_text == 0);
  CHECK_THROWS_WITH(document_dataset({{}, {}}, 0), "[document_dataset] no document has a token");
}

TEST_CASE("documents that have their ends get no second ones") {
  const TokenDataset dataset = document_dataset({{9, 5, 8}, {5, 8}, {9, 5}, {9, 8}}, {9, 8});
  CHECK(dataset.sequences == std::vector<TokenSequence>{{9, 5, 8}, {9, 5, 8}, {9, 5, 8}});
}

TEST_CASE("the document split makes a text a stream or documents") {
  const TokenDataset stream = encode_dataset("ab\nc", {}, bytes_of, 256);
  CHECK(stream.sequences == std::vector<TokenSequence>{{97, 98, 10, 99}});
  const TokenDataset lines = encode_dataset("ab\nc\n", {DocumentSplit::line}, bytes_of, 256);
  CHECK(lines.sequences == std::vector<TokenSequence>{{256, 97, 98, 256}, {256, 99, 256}});
  CHECK_THROWS_AS(encode_dataset("\n", {DocumentSplit::line}, bytes_of, 256), Error);
  CHECK_THROWS_AS(encode_dataset("", {}, bytes_of, 256), Error);
}

TEST_CASE("the last part of a stream is for validation") {
  const DatasetSplit split = split_dataset(stream_dataset(numbers(10)), 0.3);
  CHECK(split.train.sequences == std::vector<TokenSequence>{{0, 1, 2, 3, 4, 5, 6}});
  CHECK(split.train.token_count == 7);
  CHECK(split.validation.sequences == std::vector<TokenSequence>{{7, 8, 9}});
  CHECK(split.validation.token_count == 3);
  CHECK_FALSE(split.validation.documents);
}

TEST_CASE("the last documents are for validation, rounded up as nanoGPT does") {
  const TokenDataset dataset = document_dataset({{1}, {2, 3}, {4}, {5, 6, 7}, {8}}, 0);
  const DatasetSplit split = split_dataset(dataset, 0.3);
  CHECK(split.train.sequences == std::vector<TokenSequence>{{0, 1, 0}, {0, 2, 3, 0}, {0, 4, 0}});
  CHECK(split.train.token_count == 10);
  CHECK(split.validation.sequences == std::vector<TokenSequence>{{0, 5, 6, 7, 0}, {0, 8, 0}});
  CHECK(split.validation.token_count == 8);
  CHECK(split.validation.documents);
  CHECK(split.validation.end_of_text == 0);
}

TEST_CASE("binary rounding does not move a split whose fraction divides the data exactly") {
  for (const std::int32_t hundredths : {1, 7, 10, 29, 57, 58, 93, 99}) {
    const DatasetSplit split = split_dataset(stream_dataset(numbers(100)), hundredths / 100.0);
    CHECK(split.validation.token_count == hundredths);
  }
}

TEST_CASE("a fraction of 0 leaves validation empty") {
  for (const TokenDataset& dataset : {stream_dataset({1, 2}), document_dataset({{1}, {2}}, 0)}) {
    const DatasetSplit split = split_dataset(dataset, 0.0);
    CHECK(split.train.sequences == dataset.sequences);
    CHECK(split.train.token_count == dataset.token_count);
    CHECK(split.validation.sequences.empty());
    CHECK(split.validation.token_count == 0);
  }
}

TEST_CASE("a split without training data and a fraction out of range are refused") {
  CHECK_THROWS_WITH(split_dataset(document_dataset({{1, 2, 3}}, 0), 0.1),
                    "[split_dataset] validation fraction 0.1 of 1 documents leaves none for "
                    "training; give more text or a fraction of 0");
  CHECK_THROWS_WITH(split_dataset(stream_dataset({1}), 0.5),
                    "[split_dataset] validation fraction 0.5 of 1 tokens leaves none for training; "
                    "give more text or a fraction of 0");
  for (const double bad : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(split_dataset(stream_dataset({1, 2}), bad), Error);
  }
  CHECK_THROWS_WITH(split_dataset(TokenDataset{}, 0.1), "[split_dataset] the dataset is empty");
}
