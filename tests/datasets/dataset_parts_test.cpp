#include "support/test.h"

namespace dataset_parts_test {
using Sequences = std::vector<TokenSequence>;

constexpr std::int32_t kEnd = 0;

TokenDataset stream(std::int32_t first, std::int32_t count) {
  const auto ids = counted<std::int32_t>(count, [&](std::int32_t i) { return first + i; });
  return stream_dataset(ids);
}

TokenDataset documents(std::int32_t first, std::int32_t count) {
  const auto all = counted<Ids>(count, [&](std::int32_t i) { return Ids{first + i}; });
  return document_dataset(all, kEnd);
}

std::vector<TokenDataset> both(TokenDataset first, TokenDataset second) {
  std::vector<TokenDataset> parts;
  parts.push_back(std::move(first));
  parts.push_back(std::move(second));
  return parts;
}

TEST_CASE("streams are joined with the end of text between them, once") {
  const TokenDataset joined = join_datasets(both(stream(1, 2), stream(5, 3)), kEnd);
  CHECK(joined.sequences == Sequences{{1, 2, kEnd, 5, 6, 7}});
  CHECK(joined.token_count == 6);
  CHECK_FALSE(joined.documents);
  CHECK(join_datasets(both(stream_dataset({1, kEnd}), stream(5, 1)), kEnd).sequences ==
        Sequences{{1, kEnd, 5}});
  std::vector<TokenDataset> one;
  one.push_back(stream(1, 2));
  const TokenDataset alone = join_datasets(std::move(one), kEnd);
  CHECK(alone.sequences == Sequences{{1, 2}});
  CHECK_THROWS_AS(join_datasets({}, kEnd), Error);
}

TEST_CASE("a stream among documents is one document") {
  const TokenDataset joined = join_datasets(both(documents(1, 2), stream(5, 2)), kEnd);
  CHECK(joined.documents);
  CHECK(joined.end_of_text == kEnd);
  CHECK(joined.sequences == Sequences{{kEnd, 1, kEnd}, {kEnd, 2, kEnd}, {kEnd, 5, 6, kEnd}});
  CHECK(joined.token_count == 10);
}

TEST_CASE("parts of pairs stay pairs, and pairs are not joined with other texts") {
  const auto pairs = [](std::int32_t first) {
    TokenDataset part = documents(first, 4);
    part.pairs = true;
    return part;
  };
  CHECK(join_datasets(both(pairs(1), pairs(5)), kEnd).pairs);
  CHECK(mix_datasets(both(pairs(1), pairs(5)), {1, 3}, kEnd).pairs);
  const DatasetSplit split = split_each(both(pairs(1), pairs(5)), 0.25, kEnd);
  CHECK(split.train.pairs);
  CHECK(split.validation.pairs);
  CHECK(split_at_random(both(pairs(1), pairs(5)), 0.25, 3, kEnd).validation.pairs);
  const std::string message =
      "data: expected files of one kind, got pairs of answers and other texts";
  CHECK_THROWS_WITH(join_datasets(both(pairs(1), documents(5, 4)), kEnd), message);
  CHECK_THROWS_WITH(join_datasets(both(stream(1, 4), pairs(5)), kEnd), message);
}

TEST_CASE("every file gives its own last part for validation") {
  const DatasetSplit split = split_each(both(stream(1, 10), stream(101, 5)), 0.2, kEnd);
  CHECK(split.train.sequences == Sequences{{1, 2, 3, 4, 5, 6, 7, 8, kEnd, 101, 102, 103, 104}});
  CHECK(split.validation.sequences == Sequences{{9, 10, kEnd, 105}});
  const DatasetSplit cut = split_each(both(documents(1, 4), documents(11, 4)), 0.25, kEnd);
  CHECK(cut.train.sequences.size() == 6);
  CHECK(cut.validation.sequences == Sequences{{kEnd, 4, kEnd}, {kEnd, 14, kEnd}});
  const DatasetSplit none = split_each(both(documents(1, 4), documents(11, 4)), 0.0, kEnd);
  CHECK(none.train.sequences.size() == 8);
  CHECK(none.validation.sequences.empty());
  CHECK(none.validation.documents);
}

TEST_CASE("of many files with one document each, a share of the files is for validation") {
  std::vector<TokenDataset> parts;
  for (std::int32_t i = 1; i <= 20; ++i) {
    parts.push_back(documents(i, 1));
  }
  const DatasetSplit split = split_each(std::move(parts), 0.1, kEnd);
  CHECK(split.train.sequences.size() == 18);
  CHECK(split.validation.sequences.size() == 2);
  CHECK_THROWS_AS(split_each(both(documents(1, 1), documents(2, 1)), 0.6, kEnd), Error);
}

TEST_CASE("a random split draws documents from all files with its seed") {
  const auto split = [](std::uint64_t seed) {
    return split_at_random(both(documents(1, 40), documents(101, 60)), 0.1, seed, kEnd);
  };
  const DatasetSplit one = split(1);
  CHECK(one.train.sequences.size() == 90);
  CHECK(one.validation.sequences.size() == 10);
  CHECK(one.train.token_count + one.validation.token_count == 300);
  CHECK(one.validation.sequences == split(1).validation.sequences);
  CHECK_FALSE(one.validation.sequences == split(2).validation.sequences);
  std::set<std::int32_t> seen;
  bool has_first_file = false;
  for (const TokenDataset* part : {&one.train, &one.validation}) {
    for (const TokenSequence& document : part->sequences) {
      seen.insert(document.tokens(1, 1).front());
      has_first_file =
          has_first_file || (part == &one.validation && document.tokens(1, 1).front() <= 40);
    }
  }
  CHECK(seen.size() == 100);
  CHECK(has_first_file);
  CHECK_THROWS_WITH(split_at_random(both(stream(1, 10), stream(101, 5)), 0.2, 1, kEnd),
                    contains_text("split_seed: draws documents at random, but the text is one"));
}
}  // namespace dataset_parts_test
