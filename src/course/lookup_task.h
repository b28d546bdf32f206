#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headlight/nn/batch.h"
#include "headlight/nn/gpt.h"
#include "headlight/tensor/random.h"

namespace headlight::cli::lab {

inline constexpr Index kFacts = 32;      // K, numbers to look up
inline constexpr Index kReads = 2;       // bits of a number, each read at its own position
inline constexpr Index kQuestions = 16;  // of a sequence

// Task in which every head must match a query with one of K keys. A sequence has K random numbers
// of kReads bits, then questions. A question is one of K tokens; each asks for kReads positions,
// fixed and random. Bit r of the answer is bit r of the number at the r-th position. A head of
// width D distinguishes about D keys well, so the task needs wide heads, and one for each position.
class LookupTask {
 public:
  explicit LookupTask(std::uint64_t seed);

  // Makes a model of one layer of attention without an MLP. The embeddings start with a standard
  // deviation of 0.2: with GPT-2's 0.02 the training spends most steps on a plateau.
  std::unique_ptr<Gpt> make_model(Index width, Index heads, std::uint64_t seed) const;

  // Trains with AdamW on new sequences in every step. Returns the loss on held-out sequences, in
  // nats per answer.
  double train(Gpt& model, Index steps, std::uint64_t seed) const;

  // Held-out sequences for the analysis of heads.
  std::vector<std::vector<std::int32_t>> sample() const;

 private:
  // Makes `count` sequences; targets are the answers.
  Batch batch(Index count, const RandomStream& random) const;

  std::vector<std::vector<std::size_t>> positions_;  // [kReads, K] position of each question
  Batch held_out_;
};

}  // namespace headlight::cli::lab
