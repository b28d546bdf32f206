#include "cli/lab/copy_task.h"

#include <iterator>

#include "headlight/data/training_batch.h"
#include "headlight/tensor/random.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kHeldOut = 128;  // sequences
constexpr Index kSample = 8;

std::vector<std::int32_t> sequence(const RandomStream& random) {
  std::vector<std::int32_t> tokens;
  for (std::uint64_t t = 0; t < kFree; ++t) {
    tokens.push_back(static_cast<std::int32_t>(random.below(t, kTaskTokens)));
  }
  while (static_cast<Index>(tokens.size()) < kTaskLength) {
    unsigned token = 0;
    for (std::size_t bit = 0; bit < std::size(kDistances); ++bit) {
      const auto source = static_cast<Index>(tokens.size()) - kDistances[bit];
      token |= static_cast<unsigned>(tokens[static_cast<std::size_t>(source)]) & (1U << bit);
    }
    tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

std::vector<std::vector<std::int32_t>> sequences(Index count, const RandomStream& random) {
  std::vector<std::vector<std::int32_t>> result;
  for (Index i = 0; i < count; ++i) {
    result.push_back(sequence(random.fork(static_cast<std::uint64_t>(i))));
  }
  return result;
}

// Position t predicts token t of the sequence, because <|endoftext|> stands before it.
Batch held_out_batch(const TokenDataset& dataset) {
  Batch batch = training_batch(token_ids(dataset));
  std::int32_t* targets = batch.targets.data<std::int32_t>();
  const std::int32_t* positions = batch.positions.data<std::int32_t>();
  for (Index i = 0; i < batch.token_count(); ++i) {
    if (positions[i] < kFree || positions[i] >= kTaskLength) {
      targets[i] = kIgnoreTarget;
      --batch.target_count;
    }
  }
  return batch;
}

}  // namespace

CopyTask make_copy_task(Index sequences_to_learn, std::uint64_t seed) {
  constexpr std::int32_t kEnd = kTaskTokens;
  const RandomStream random{seed, 0};
  CopyTask task;
  task.training = document_dataset(sequences(sequences_to_learn, random.fork(0)), kEnd);
  std::vector<std::vector<std::int32_t>> held_out = sequences(kHeldOut, random.fork(1));
  task.held_out = held_out_batch(document_dataset(held_out, kEnd));
  held_out.resize(kSample);
  task.sample = token_ids(document_dataset(held_out, kEnd));
  return task;
}

}  // namespace headlight::cli::lab
