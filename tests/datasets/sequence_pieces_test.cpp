#include "support/seed_sequences.h"
#include "support/test.h"

std::vector<Ids> all_pieces(const TokenDataset& dataset, Index block_size) {
  const SequencePieces pieces(dataset, block_size);
  std::vector<Ids> result;
  for (Index i = 0; i < pieces.count(); ++i) {
    result.push_back(pieces.tokens(i));
    CHECK(pieces.length(i) == static_cast<Index>(result.back().size()));
  }
  return result;
}

TEST_CASE("a long sequence is cut so that neighbours share one token") {
  const TokenDataset dataset = stream_dataset({1, 2, 3, 4, 5, 6});
  CHECK(all_pieces(dataset, 2) == std::vector<Ids>{{1, 2, 3}, {3, 4, 5}, {5, 6}});
  CHECK(all_pieces(dataset, 5) == std::vector<Ids>{{1, 2, 3, 4, 5, 6}});
  CHECK(all_pieces(dataset, 4) == std::vector<Ids>{{1, 2, 3, 4, 5}, {5, 6}});
  CHECK(all_pieces(dataset, 1) == std::vector<Ids>{{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}});
  CHECK(all_pieces(dataset, std::numeric_limits<Index>::max()).size() == 1);
}

TEST_CASE("pairs of answers are not cut") {
  TokenDataset dataset = document_dataset({{1, 2, 3, 4, 5, 6}, {7, 8, 9}}, 0);
  const std::size_t pieces = all_pieces(dataset, 2).size();
  dataset.pairs = true;
  CHECK(pieces == 6);
  CHECK(all_pieces(dataset, 2) == std::vector<Ids>{{0, 1, 2, 3, 4, 5, 6, 0}, {0, 7, 8, 9, 0}});
}

TEST_CASE("sequences of zero or one token give no piece") {
  const TokenDataset dataset{{{}, {98}, {1, 2}, {97}, {3, 4, 5}, {}}, 7, true};
  CHECK(all_pieces(dataset, 2) == std::vector<Ids>{{1, 2}, {3, 4, 5}});
}

TEST_CASE("pieces have as many targets as the sequences") {
  const TokenDataset dataset{{seed_sequences().begin(), seed_sequences().end()}, 94, true};
  for (const Index block_size : {1, 2, 3, 7, 19, 20, 100}) {
    const SequencePieces pieces(dataset, block_size);
    Index targets = 0;
    for (Index i = 0; i < pieces.count(); ++i) {
      CHECK(pieces.length(i) >= 2);
      CHECK(pieces.length(i) <= block_size + 1);
      targets += pieces.length(i) - 1;
    }
    CHECK(targets == 84);
  }
}

TEST_CASE("a dataset without targets and a block size below 1 are refused") {
  const TokenDataset dataset{{{98}, {}}, 1, true};
  CHECK_THROWS_WITH(SequencePieces(dataset, 4),
                    "[batching] no sequence has two tokens, so there is no target");
  CHECK_THROWS_WITH(SequencePieces(dataset, 0), "[batching] block_size must be at least 1, got 0");
}
