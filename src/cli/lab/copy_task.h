#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/data/dataset.h"
#include "headlight/nn/batch.h"

namespace headlight::cli::lab {

// A language that needs several attention patterns at once. A token is a number from 0 to 15, four
// bits; bit j of every token is copied from the token kDistances[j] places before it. The first
// kFree tokens are random, all others follow, so that a model that has understood the language
// predicts them with a loss of 0. A single attention pattern mixes the four places it must keep
// apart.
inline constexpr Index kTaskTokens = 16;  // <|endoftext|> is token 16
inline constexpr Index kTaskVocabulary = kTaskTokens + 1;
inline constexpr Index kTaskLength = 24;             // tokens of a sequence
inline constexpr Index kFree = 5;                    // of them random
inline constexpr Index kDistances[] = {2, 3, 4, 5};  // at most kFree

struct CopyTask {
  TokenDataset training;
  Batch held_out;  // other sequences; only tokens that follow from earlier ones are targets
  std::vector<std::vector<std::int32_t>> sample;  // eight of those, to look at
};

// The task with so many training sequences.
CopyTask make_copy_task(Index sequences, std::uint64_t seed);

}  // namespace headlight::cli::lab
