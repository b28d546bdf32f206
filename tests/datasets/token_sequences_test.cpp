#include "support/test.h"

namespace token_sequences_test {
constexpr std::int32_t kEnd = 99;

// Returns document d: 1 + d % 7 times the token d % 90, between two end tokens.
TokenSequence document(Index number) {
  Ids ids(static_cast<std::size_t>(3 + number % 7), static_cast<std::int32_t>(number % 90));
  ids.front() = kEnd;
  ids.back() = kEnd;
  return ids;
}

class Documents final : public SequenceSource {
 public:
  explicit Documents(Index size) : size_(size) {}
  Index size() const override { return size_; }
  TokenSequence at(Index number) const override { return document(number); }
  void lengths(Index first, std::span<Index> lengths) const override {
    for (Index& length : lengths) {
      length = 3 + first++ % 7;
    }
  }

 private:
  Index size_;
};

TokenSequences in_source(Index size) { return TokenSequences(std::make_shared<Documents>(size)); }

TokenSequences in_memory(Index size) {
  const TokenSequences all = in_source(size);
  return TokenSequences(all.begin(), all.end());
}

TokenDataset dataset_of(TokenSequences sequences) {
  TokenDataset dataset{.sequences = std::move(sequences), .documents = true, .end_of_text = kEnd};
  dataset.sequences.for_each_lengths([&](std::span<const Index> lengths) {
    dataset.token_count = std::accumulate(lengths.begin(), lengths.end(), dataset.token_count);
  });
  return dataset;
}

TEST_CASE("a list gives the same sequences and lengths whether in memory or in a source") {
  for (TokenSequences list : {in_memory(40000), in_source(40000)}) {
    CHECK(list.size() == 40000);
    CHECK(list.front() == document(0));
    CHECK(list[39999] == document(39999));
    std::vector<Index> lengths(3);
    list.lengths(39997, lengths);
    CHECK(lengths == std::vector<Index>{3 + 39997 % 7, 3 + 39998 % 7, 3 + 39999 % 7});
    const TokenSequences tail = list.take_tail(39990);
    CHECK(list.size() == 39990);
    CHECK(tail.size() == 10);
    CHECK(tail[3] == document(39993));
    CHECK(list.take().size() == 39990);
    CHECK(list.empty());
  }
  CHECK(in_source(5).bytes_in_memory() == 0);
  CHECK(in_memory(1).bytes_in_memory() == 12);
  CHECK(in_source(5) == in_memory(5));
  CHECK_FALSE(in_source(5) == in_memory(4));
}

TEST_CASE("joined lists act as one wherever their sequences are stored") {
  const auto joined = [](const TokenSequences& last) {
    return join_lists({in_memory(2), {}, in_memory(3), last});
  };
  CHECK(joined(in_memory(4)).in_memory());
  const TokenSequences source = joined(in_source(4));
  CHECK_FALSE(source.in_memory());
  CHECK(source == joined(in_memory(4)));
  std::vector<Index> lengths(9);
  source.lengths(0, lengths);
  CHECK(lengths == std::vector<Index>{3, 4, 3, 4, 5, 3, 4, 5, 6});
}

TEST_CASE("batches of documents are the same from memory and from a source") {
  const auto split = [](const TokenSequences& one, const TokenSequences& other) {
    std::vector<TokenDataset> parts;
    parts.push_back(dataset_of(one));
    parts.push_back(dataset_of(other));
    return split_each(std::move(parts), 0.1, kEnd);
  };
  const DatasetSplit memory = split(in_memory(500), in_memory(80));
  const DatasetSplit source = split(in_source(500), in_source(80));
  CHECK(source.train.token_count == memory.train.token_count);
  CHECK(source.validation.sequences == memory.validation.sequences);
  CHECK_FALSE(source.validation.sequences.in_memory());
  for (const Batching batching : {Batching::padded, Batching::bucketed, Batching::packed}) {
    const BatcherOptions options{
        .batching = batching, .batch_size = 7, .block_size = 6, .bucket_window = 5};
    Batcher from_memory(memory.train, options);
    Batcher from_source(source.train, options);
    REQUIRE(from_memory.batches_per_epoch() == from_source.batches_per_epoch());
    for (Index i = 0; i < 200; ++i) {
      REQUIRE(from_memory.sequences(i) == from_source.sequences(i));
    }
  }
}

TEST_CASE("a shuffled list has all sequences in an order of the seed") {
  const TokenSequences all = shuffled(in_memory(1000), 7);
  CHECK(all == shuffled(in_source(1000), 7));
  CHECK_FALSE(all == shuffled(in_memory(1000), 8));
  CHECK_FALSE(all == in_memory(1000));
  CHECK(shuffled({}, 7).empty());
  auto seen = mapped<Ids>(
      all, [&](const TokenSequence& sequence) { return sequence.tokens(0, sequence.size()); });
  auto expected =
      counted<Ids>(1000, [&](Index i) { return document(i).tokens(0, document(i).size()); });
  std::sort(seen.begin(), seen.end());
  std::sort(expected.begin(), expected.end());
  CHECK(seen == expected);
  const TokenSequences in_order = shuffled(in_source(1000), 7);
  std::vector<Index> lengths(10);
  in_order.lengths(500, lengths);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    CHECK(lengths[i] == in_order[500 + i].size());
  }
}
}  // namespace token_sequences_test
