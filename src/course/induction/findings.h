#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "course/induction/subject.h"
#include "headlight/interpret/circuit/circuit.h"
#include "headlight/interpret/effects/induction_pairs.h"
#include "headlight/interpret/scores/head_scores.h"

namespace headlight::cli::lab {

// Positions of an InductionPair: A and B, X and Y, and the A at the end.
inline constexpr std::size_t kPairPositions = 5;

struct HeadFinding {
  ScoredHead scored;
  // Shares of the logit difference between clean and corrupt texts: mean and interval over pairs.
  Interval suffices;  // recovered by patching the head's clean values into the corrupt texts
  Interval needed;    // lost by patching the head's corrupt values into the clean texts
  std::array<double, kPairPositions> by_position{};  // mean of `suffices` at each position alone

  bool is(std::string_view verdict) const { return scored.verdict.name == verdict; }
};

// Effect of an earlier head on query, key and value of the induction head, as shares over pairs.
struct PathFinding {
  HeadId from;
  std::array<Interval, 3> into;  // q, k, v
};

struct LensFinding {
  std::string label;
  double probability = 0;  // mean probability of the answer over pairs
  double rank = 0;         // median rank over pairs
};

// Loss on the second copy of repeated random tokens without some heads.
struct LossWithout {
  HeadSet heads;
  Interval loss;  // nats a token
  Interval rise;
};

struct Repetition {
  Interval first;   // loss on the first copy
  Interval second;  // loss on the second copy
  LossWithout without_induction = {};
  std::optional<LossWithout> without_source = {};  // without the source head
  std::vector<LossWithout> without_others = {};    // without drawn sets of unnamed heads

  // Mean rise of the drawn set with the largest rise; 0 without drawn sets.
  double largest_other_rise() const;
};

// All measurements of one model.
struct Findings {
  std::vector<InductionPair> pairs;
  Index sequences = 0;            // of repeated random tokens
  Index pairs_done = 0;           // pairs that the model solves clearly
  double clean_difference = 0;    // mean logit of the answer less the wrong token's
  double corrupt_difference = 0;  // this mean on the corrupt texts
  std::vector<HeadFinding> heads;
  HeadSet induction_heads;  // by verdict; if there is none, the closest head
  bool has_induction = false;
  HeadId receiver;  // induction head with the largest recovered share
  std::vector<LensFinding> lens;
  std::vector<PathFinding> paths;  // strongest key path first; empty without earlier heads
  std::optional<HeadId> source;    // sender of the first path
  Repetition repetition = {};
  CircuitResult circuit = {};
  double kept_share = 0;  // kept edges divided by all edges

  const HeadFinding& head(const HeadId& id) const;
  // True for an induction head, the source head or a previous-token head.
  bool has_part(const HeadFinding& head) const;
  // True if the model solves more than half of the pairs clearly. Otherwise shares mean nothing.
  bool does_task() const { return 2 * pairs_done > std::ssize(pairs); }
};

// Names of heads, as "1.0, 1.3".
std::string names_of(const HeadSet& heads);

// Measures the model; `full` with four times as many texts. Leaves out results of the task if the
// model does not solve it. Detaches the model's hook.
Findings measure(const Subject& subject, bool full, std::uint64_t seed);

}  // namespace headlight::cli::lab
