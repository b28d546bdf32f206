#include "support/seed_sequences.h"
#include "support/test.h"

BatcherOptions options_of(Batching batching, Index batch_size, Index block_size) {
  BatcherOptions options{.batching = batching, .batch_size = batch_size, .block_size = block_size};
  return options;
}

// Documents of very different lengths, no token of which comes twice.
TokenDataset ragged_documents(std::size_t count) {
  const RandomStream random{3, 0};
  TokenDataset dataset;
  dataset.documents = true;
  std::int32_t next = 0;
  for (std::size_t d = 0; d < count; ++d) {
    Ids ids;
    for (std::uint64_t size = 2 + random.below(d, 60); size > 0; --size) {
      ids.push_back(next++);
    }
    dataset.token_count += static_cast<Index>(ids.size());
    dataset.sequences.push_back(std::move(ids));
  }
  return dataset;
}

std::multiset<std::int32_t> targets_of_epoch(Batcher& batcher, Index epoch) {
  std::multiset<std::int32_t> targets;
  for (Index i = 0; i < batcher.batches_per_epoch(); ++i) {
    const Batch batch = batcher.batch(epoch * batcher.batches_per_epoch() + i);
    for (const std::int32_t target : ids_of(batch.targets)) {
      targets.insert(target);
    }
  }
  return targets;
}

// Share of pads in the rectangle [B, longest sequence].
double padding_fraction(const Batch& batch) {
  Index longest = 0;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    longest = std::max(longest, batch.offsets[b + 1] - batch.offsets[b]);
  }
  return 1.0 - static_cast<double>(batch.token_count()) /
                   static_cast<double>(longest * batch.sequence_count());
}

double mean_padding(const TokenDataset& dataset, const BatcherOptions& options) {
  Batcher batcher(dataset, options);
  double sum = 0.0;
  for (Index i = 0; i < batcher.batches_per_epoch(); ++i) {
    sum += padding_fraction(batcher.batch(i));
  }
  return sum / static_cast<double>(batcher.batches_per_epoch());
}

TEST_CASE("an epoch of documents visits every target exactly once, padded and bucketed") {
  const TokenDataset dataset = ragged_documents(101);
  std::multiset<std::int32_t> expected;
  for (const Ids& ids : token_ids(dataset)) {
    expected.insert(ids.begin() + 1, ids.end());
  }
  for (const Batching batching : {Batching::padded, Batching::bucketed}) {
    for (const Index block_size : {1, 7, 1024}) {
      BatcherOptions options = options_of(batching, 4, block_size);
      options.bucket_window = 3;
      Batcher batcher(dataset, options);
      for (const Index epoch : {0, 1, 7}) {
        CHECK((targets_of_epoch(batcher, epoch) == expected));
      }
    }
  }
}

TEST_CASE("a batch holds whole documents with their targets") {
  const TokenDataset dataset = document_dataset({{5, 6}, {7}}, 0);
  Batcher batcher(dataset, options_of(Batching::padded, 2, 16));
  CHECK(batcher.batches_per_epoch() == 1);
  std::set<std::vector<Ids>> orders;
  for (Index i = 0; i < 20; ++i) {
    const std::vector<Ids> sequences = batcher.sequences(i);
    const bool first = sequences.front() == Ids{0, 5, 6, 0};
    const Batch batch = batcher.batch(i);
    CHECK(ids_of(batch.tokens) == (first ? Ids{0, 5, 6, 0, 7} : Ids{0, 7, 0, 5, 6}));
    CHECK(ids_of(batch.targets) == (first ? Ids{5, 6, 0, 7, 0} : Ids{7, 0, 5, 6, 0}));
    CHECK(batch.target_count == 5);
    CHECK(batch.records == (first ? std::vector<Index>{0, 1} : std::vector<Index>{1, 0}));
    orders.insert(sequences);
  }
  CHECK(orders.size() == 2);
}

TEST_CASE("batches do not depend on the order in which they are asked for") {
  const TokenDataset dataset = ragged_documents(50);
  for (const Batching batching : {Batching::padded, Batching::bucketed, Batching::packed}) {
    const BatcherOptions options = options_of(batching, 3, 16);
    Batcher in_order(dataset, options);
    std::map<Index, std::vector<Ids>> expected;
    for (Index i = 0; i <= 200; ++i) {
      expected[i] = in_order.sequences(i);
    }
    Batcher jumping(dataset, options);
    for (const Index i : {200, 3, 199, 0, 3, 64}) {
      CHECK(jumping.sequences(i) == expected[i]);
    }
  }
}

TEST_CASE("every epoch and every seed has its own order") {
  const TokenDataset dataset = ragged_documents(40);
  for (const Batching batching : {Batching::padded, Batching::bucketed, Batching::packed}) {
    BatcherOptions options = options_of(batching, 4, 100);
    Batcher batcher(dataset, options);
    const auto beginning = [](Batcher& of, Index index) {
      return std::vector{of.sequences(index), of.sequences(index + 1), of.sequences(index + 2)};
    };
    CHECK(beginning(batcher, 0) != beginning(batcher, batcher.batches_per_epoch()));
    options.seed += 1;
    Batcher other(dataset, options);
    CHECK(beginning(batcher, 0) != beginning(other, 0));
  }
}

TEST_CASE("over many epochs every document is equally often the first") {
  const TokenDataset dataset = document_dataset({{1}, {2}, {3}, {4}}, 0);
  Batcher batcher(dataset, options_of(Batching::padded, 1, 4));
  std::map<std::int32_t, int> count;
  for (Index epoch = 0; epoch < 4000; ++epoch) {
    ++count[batcher.sequences(epoch * 4).front()[1]];
  }
  for (std::int32_t id = 1; id <= 4; ++id) {
    CHECK(std::abs(count[id] - 1000) < 150);  // more than five standard deviations
  }
}

TEST_CASE("bucketed batches need far fewer pads than padded ones on ragged documents") {
  const TokenDataset dataset = ragged_documents(640);
  const double padded = mean_padding(dataset, options_of(Batching::padded, 8, 64));
  const double bucketed = mean_padding(dataset, options_of(Batching::bucketed, 8, 64));
  CHECK(padded > 0.3);
  CHECK(bucketed < 0.05);
  CHECK(mean_padding(dataset, options_of(Batching::packed, 8, 64)) == 0.0);
}

TEST_CASE("batches of buckets are not sorted by length") {
  const TokenDataset dataset = ragged_documents(640);
  Batcher batcher(dataset, options_of(Batching::bucketed, 8, 64));
  int longer = 0;
  for (Index i = 1; i < batcher.batches_per_epoch(); ++i) {
    longer += batcher.sequences(i)[0].size() > batcher.sequences(i - 1)[0].size() ? 1 : 0;
  }
  CHECK(longer > 25);
  CHECK(longer < 55);
}

TEST_CASE("the sorted batches of a window come in another order in each epoch") {
  const TokenDataset dataset = ragged_documents(640);
  BatcherOptions options = options_of(Batching::bucketed, 8, 64);
  options.bucket_window = 80;  // all batches
  Batcher batcher(dataset, options);
  const auto lengths = [&](Index epoch) {
    return counted<std::size_t>(batcher.batches_per_epoch(), [&](Index i) {
      return batcher.sequences(epoch * batcher.batches_per_epoch() + i)[0].size();
    });
  };
  CHECK(lengths(0) != lengths(1));
}

TEST_CASE("with a bucket window of one batch bucketed batches equal padded ones") {
  const TokenDataset dataset = ragged_documents(37);
  BatcherOptions options = options_of(Batching::bucketed, 5, 64);
  options.bucket_window = 1;
  Batcher bucketed(dataset, options);
  Batcher padded(dataset, options_of(Batching::padded, 5, 64));
  std::multiset<std::multiset<Ids>> a;
  std::multiset<std::multiset<Ids>> b;
  for (Index i = 0; i < padded.batches_per_epoch(); ++i) {
    const std::vector<Ids> from_bucketed = bucketed.sequences(i);
    const std::vector<Ids> from_padded = padded.sequences(i);
    a.emplace(from_bucketed.begin(), from_bucketed.end());
    b.emplace(from_padded.begin(), from_padded.end());
  }
  CHECK((a == b));
}

TEST_CASE("batches_per_epoch is the number of batches that hold all targets rounded up") {
  const TokenDataset stream = stream_dataset(numbers(101));
  CHECK(Batcher(stream, options_of(Batching::packed, 2, 10)).batches_per_epoch() == 5);
  CHECK(Batcher(stream, options_of(Batching::packed, 3, 10)).batches_per_epoch() == 4);
  CHECK(Batcher(stream, options_of(Batching::padded, 3, 10)).batches_per_epoch() == 4);
  const TokenDataset seed{{seed_sequences().begin(), seed_sequences().end()}, 94, true};
  CHECK(Batcher(seed, options_of(Batching::padded, 3, 64)).batches_per_epoch() == 3);
}

TEST_CASE("the order of documents equals the recorded one so that old runs can be resumed") {
  auto ids = counted<Ids>(
      10, [&](std::int32_t d) { return Ids(static_cast<std::size_t>(1 + d * d % 7), d + 1); });
  const TokenDataset dataset = document_dataset(std::move(ids), 0);
  // The documents of the batches from `index` on.
  const auto documents = [&](Batching batching, Index index) {
    BatcherOptions options = options_of(batching, 4, 100);
    options.bucket_window = 2;
    Batcher batcher(dataset, options);
    std::vector<Ids> batches;
    for (Index i = index; i < index + 3; ++i) {
      batches.emplace_back();
      for (const Ids& sequence : batcher.sequences(i)) {
        batches.back().push_back(sequence[1]);
      }
    }
    return batches;
  };
  using Batches = std::vector<Ids>;
  CHECK(documents(Batching::padded, 0) == Batches{{10, 3, 8, 7}, {1, 6, 2, 5}, {9, 4}});
  CHECK(documents(Batching::padded, 300) == Batches{{6, 3, 4, 10}, {2, 1, 8, 7}, {9, 5}});
  CHECK(documents(Batching::bucketed, 0) == Batches{{5, 10, 3, 6}, {8, 1, 7, 2}, {9, 4}});
  CHECK(documents(Batching::bucketed, 300) == Batches{{4, 6, 3, 10}, {1, 8, 2, 7}, {9, 5}});
}

TEST_CASE("options out of range and negative batch numbers are refused") {
  const TokenDataset dataset = stream_dataset(numbers(10));
  CHECK_THROWS_WITH(Batcher(dataset, options_of(Batching::packed, 0, 4)),
                    "[Batcher] batch_size must be at least 1, got 0");
  CHECK_THROWS_WITH(Batcher(dataset, options_of(Batching::padded, 1, -4)),
                    "[Batcher] block_size must be at least 1, got -4");
  BatcherOptions options = options_of(Batching::bucketed, 1, 4);
  options.bucket_window = 0;
  CHECK_THROWS_WITH(Batcher(dataset, options), "[Batcher] bucket_window must be at least 1, got 0");
  Batcher batcher(dataset, options_of(Batching::packed, 2, 4));
  CHECK_THROWS_WITH(batcher.batch(-1), "[Batcher] batch index must not be negative, got -1");
}

TEST_CASE("the largest possible option values cause no overflow and no huge allocation") {
  constexpr Index kLargest = std::numeric_limits<Index>::max();
  const TokenDataset dataset = ragged_documents(20);
  BatcherOptions options = options_of(Batching::bucketed, kLargest, kLargest);
  options.bucket_window = kLargest;
  Batcher whole(dataset, options);
  CHECK(whole.batches_per_epoch() == 1);
  CHECK(whole.sequences(kLargest).size() == 20);
  options.batch_size = 2;
  CHECK(Batcher(dataset, options).batches_per_epoch() == 10);
  CHECK(Batcher(dataset, options).sequences(9).size() == 2);
  check_error([&] { Batcher(dataset, options_of(Batching::packed, kLargest, 2)); },
              {"[Batcher] batch_size 9223372036854775807 x 2 tokens is too large for one batch"});
  CHECK(Batcher(dataset, options_of(Batching::packed, 1, kLargest)).sequences(0).size() == 1);
}

TEST_CASE("no batch has more tokens than the longest sequences of the data") {
  const TokenDataset documents =
      document_dataset({{1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}}, {std::nullopt, 9});
  for (const Batching batching : {Batching::padded, Batching::bucketed}) {
    const BatcherOptions options{.batching = batching, .batch_size = 2, .block_size = 4};
    // Inputs: 1, 2, 3, 4, and 4 of the longest, which is cut.
    CHECK(most_batch_tokens(documents, options) == 8);
    Batcher batcher(documents, options);
    Index most = 0;
    for (Index i = 0; i < 20; ++i) {
      most = std::max(most, batcher.batch(i).token_count());
    }
    CHECK(most <= 8);
  }
  const TokenDataset stream = stream_dataset({1, 2, 3, 4, 5, 6});
  CHECK(most_batch_tokens(stream, {.batch_size = 3, .block_size = 4}) == 12);
  CHECK(most_batch_tokens(stream, {.batch_size = 3, .block_size = 100}) == 15);
}
