#include "datasets/token_stream.h"
#include "support/test.h"

void check_all_parts(const TokenDataset& dataset, const Ids& expected) {
  const TokenStream stream(dataset);
  REQUIRE(stream.size() == static_cast<Index>(expected.size()));
  for (Index begin = 0; begin < stream.size(); ++begin) {
    for (Index count = 0; begin + count <= stream.size(); ++count) {
      const Ids part(expected.begin() + begin, expected.begin() + begin + count);
      REQUIRE(stream.tokens(begin, count) == part);
    }
  }
}

TEST_CASE("documents are joined with a single end of text between them") {
  check_all_parts(document_dataset({{5, 6}, {7}, {8, 9, 10}}, 0), {0, 5, 6, 0, 7, 0, 8, 9, 10, 0});
}

TEST_CASE("a stream is read as it is") {
  check_all_parts(stream_dataset({0, 0, 5, 0, 0}), {0, 0, 5, 0, 0});
}

TEST_CASE("sequences without separators, of one token and empty ones are joined whole") {
  check_all_parts({{{1, 2}, {2, 3}, {}, {4}, {4}}, 6, true}, {1, 2, 2, 3, 4, 4});
  check_all_parts({{{0, 1}, {0, 2, 0}}, 5, true, 0}, {0, 1, 0, 2, 0});
  check_all_parts({{{0}, {0}, {}, {0, 1, 0}}, 5, true, 0}, {0, 0, 1, 0});
}
