#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/lab/induction/subject.h"
#include "headlight/heads/circuit.h"
#include "headlight/heads/head_scores.h"
#include "headlight/heads/induction_pairs.h"

namespace headlight::cli::lab {

// Places of an InductionPair: A and B, X and Y, and the A at the end.
inline constexpr std::array<const char*, 5> kPairPlaces{"A", "B", "X", "Y", "A (end)"};

struct HeadFinding {
  ScoredHead scored;
  Interval suffices;  // share that it brings back on the corrupt texts, over pairs
  Interval needed;    // share that is lost on the clean texts
  std::array<double, kPairPlaces.size()> by_place{};  // as `suffices`, at one place each; means

  bool is(std::string_view verdict) const { return scored.verdict.name == verdict; }
};

// What an earlier head writes into query, key and value of the induction head: shares over pairs.
struct PathFinding {
  HeadId from;
  std::array<Interval, 3> into;  // q, k, v
};

struct LensFinding {
  std::string place;
  double probability = 0;  // of the answer; mean over pairs
  double rank = 0;         // the median
};

// Loss on the second copy of random tokens that repeat, without some heads.
struct LossWithout {
  HeadSet heads;
  Interval loss;  // nats a token
  Interval rise;
};

struct Repetition {
  Interval first;   // loss on the first copy
  Interval second;  // and on the second
  LossWithout without_induction = {};
  std::optional<LossWithout> without_source = {};  // of the head that tells where to look
  std::vector<LossWithout> without_others = {};    // as many heads that were not named, drawn

  // The mean of the largest; 0 when none were drawn.
  double largest_other_rise() const;
};

// Everything that was measured of one model.
struct Findings {
  std::vector<InductionPair> pairs;
  Index sequences = 0;            // of random tokens that repeat
  Index pairs_done = 0;           // clearly
  double clean_difference = 0;    // logit of the answer less that of the wrong token, mean
  double corrupt_difference = 0;  // the same on the corrupt texts
  std::vector<HeadFinding> heads;
  HeadSet induction_heads;  // by verdict; where none is one, the head that comes nearest
  bool has_induction = false;
  HeadId receiver;  // of them the one that brings back most
  std::vector<LensFinding> lens;
  std::vector<PathFinding> paths;  // the strongest into keys first; none without earlier heads
  std::optional<HeadId> source;    // of the first
  Repetition repetition = {};
  CircuitResult circuit = {};
  double kept_share = 0;  // edges that are kept of all edges

  const HeadFinding& head(const HeadId& id) const;
  // The model does the task clearly in more than half of the pairs, so that shares mean something.
  bool does_task() const { return 2 * pairs_done > std::ssize(pairs); }
};

struct MeasureOptions {
  Index pairs = 24;
  Index sequences = 32;  // of random tokens that repeat
  Index draws = 12;      // of other heads
  std::uint64_t seed = 1337;
};

// Looks into the model; what rests on the task is left out where it does not do it. The attached
// hook of the model is taken off.
Findings measure(const Subject& subject, const MeasureOptions& options);

}  // namespace headlight::cli::lab
