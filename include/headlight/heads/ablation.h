#pragma once

#include <vector>

#include "headlight/base/choices.h"
#include "headlight/cluster/processes.h"
#include "headlight/data/dataset.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/heads/head_set.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// What takes the place of a head's output [N, D].
enum class AblationMode {
  zero,      // nothing
  mean,      // its mean over all tokens of the data
  resample,  // what it puts out at the same place of the next document
};

template <>
inline constexpr auto kChoices<AblationMode> =
    std::to_array<Choice<AblationMode>>({{"zero", AblationMode::zero},
                                         {"mean", AblationMode::mean},
                                         {"resample", AblationMode::resample}});

struct AblationOptions {
  AblationMode mode = AblationMode::zero;
  HeadSet heads = {};    // to ablate one at a time; empty: all
  Index pair_heads = 0;  // also all pairs among so many heads that matter most
  Index batch_size = 12;
  BootstrapOptions bootstrap = {};
  Processes* processes = nullptr;  // that share the batches: all call it, and all get its result
};

// How much the loss rises, in nats a token, when a head is ablated.
struct HeadEffect {
  HeadId head;
  Interval rise;
};

// Two heads at once. `beyond` is what their joint rise exceeds the sum of both single ones by:
// above 0 where each covers for the other, below 0 where they do their work together.
struct PairEffect {
  HeadId first;
  HeadId second;
  Interval rise;
  Interval beyond;
};

struct AblationResult {
  Interval loss;                  // of the whole model
  std::vector<HeadEffect> heads;  // in the order of HeadId
  std::vector<PairEffect> pairs;  // the largest `beyond` first
  Index sequences = 0;            // documents, cut where they are longer than the block
  Index tokens = 0;               // targets
};

// Runs the model over the data with one head's output replaced, for each head. Layers below the
// head are computed once for all, so that all heads together cost about half as many forward passes
// as there are heads. Intervals are of sequences, paired: each is compared with itself.
//
// Throws Error for heads that do not exist, for fewer than two pair_heads, when the data has no
// target, and for resample with a single document.
AblationResult ablate_heads(const LanguageModel& model, const TokenDataset& data,
                            const AblationOptions& options = {});

}  // namespace headlight
