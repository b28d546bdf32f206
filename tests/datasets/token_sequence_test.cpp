#include "support/test.h"

// The token at position p has id p % 1000.
class Numbers final : public TokenSource {
 public:
  explicit Numbers(Index size) : size_(size) {}
  std::string name() const override { return "numbers"; }
  Index size() const override { return size_; }
  void read(Index begin, std::span<std::int32_t> ids) const override {
    for (std::int32_t& id : ids) {
      id = static_cast<std::int32_t>(begin++ % 1000);
    }
  }

 private:
  Index size_;
};

TokenSequence in_source(Index size) { return TokenSequence(std::make_shared<Numbers>(size)); }

TokenSequence in_memory(Index size) { return TokenSequence(in_source(size).tokens(0, size)); }

TEST_CASE("a sequence has the same size and tokens whether in memory or in a source") {
  for (TokenSequence ids : {in_memory(200000), in_source(200000)}) {
    CHECK(ids.size() == 200000);
    CHECK_FALSE(ids.empty());
    CHECK(ids.front() == 0);
    CHECK(ids.back() == 999);
    CHECK(ids.tokens(998, 4) == Ids{998, 999, 0, 1});
    CHECK(ids.tokens(5, 0).empty());
    Index seen = 0;
    Index sum = 0;
    ids.for_each_part([&](std::span<const std::int32_t> part) {
      seen += std::ssize(part);
      for (const std::int32_t id : part) {
        sum += id;
      }
    });
    CHECK(seen == 200000);
    CHECK(sum == 200 * 999 * 500);
    TokenSequence tail = ids.take_tail(150001);
    CHECK(ids.size() == 150001);
    CHECK(ids.back() == 0);
    CHECK(tail.size() == 49999);
    CHECK(tail.tokens(0, 2) == Ids{1, 2});
    CHECK(tail.take_tail(49998) == TokenSequence{999});
    CHECK(tail.size() == 49998);
    CHECK(tail.take().back() == 998);
    CHECK(tail.empty());
  }
}

TEST_CASE("sequences with equal ids are equal wherever they are stored") {
  CHECK(in_memory(70000) == in_source(70000));
  CHECK(in_source(70000) == in_memory(70000));
  CHECK_FALSE(in_source(70000) == in_source(70001));
  CHECK_FALSE(in_source(3) == TokenSequence{0, 1, 3});
  CHECK(TokenSequence() == TokenSequence{});
  CHECK(TokenSequence().empty());
}

TEST_CASE("only ids in memory take memory") {
  CHECK(in_source(1000).bytes_in_memory() == 0);
  CHECK(TokenSequence({1, 2, 3}).bytes_in_memory() == 12);
  TokenDataset both = stream_dataset(in_source(1000));
  both.sequences.push_back(Ids{1, 2});
  CHECK(bytes_in_memory(both) == 8);
}

TEST_CASE("joined sequences act as one and sources are not copied for it") {
  const auto parts = [](const TokenSequence& first) {
    return std::vector<TokenSequence>{first, {}, {7}, first};
  };
  const TokenSequence memory = join_sequences(parts(in_memory(1005)));
  TokenSequence source = join_sequences(parts(in_source(1005)));
  CHECK(memory.in_memory());
  CHECK_FALSE(source.in_memory());
  CHECK(source.bytes_in_memory() == 4);
  CHECK(source.size() == 2011);
  CHECK(source == memory);
  for (const Index begin : {0, 998, 1004, 1005, 1006, 2000}) {
    CHECK(source.tokens(begin, 11) == memory.tokens(begin, 11));
  }
  CHECK(source.tokens(1003, 5) == Ids{3, 4, 7, 0, 1});
  CHECK(source.take_tail(1005).front() == 7);
  CHECK(join_sequences({}).empty());
}

TEST_CASE("batches of every kind are the same from memory and from a source") {
  const TokenDataset memory = stream_dataset(in_memory(5000));
  const TokenDataset source = stream_dataset(in_source(5000));
  for (const double repeat_share : {0.0, 0.5}) {
    const BatcherOptions options{.batch_size = 4, .block_size = 32, .repeat_share = repeat_share};
    Batcher from_memory(memory, options);
    Batcher from_source(source, options);
    for (Index i = 0; i < 20; ++i) {
      REQUIRE(from_memory.sequences(i) == from_source.sequences(i));
    }
  }
  CHECK(count_token(source, 999) == 5);
  CHECK(token_ids(source) == token_ids(memory));
}
