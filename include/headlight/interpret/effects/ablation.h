#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/dataset.h"
#include "headlight/distributed/processes.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/interpret/head_set.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// Replacement for a head's output [N, D].
enum class AblationMode {
  zero,      // zeros
  mean,      // its mean over all tokens of the data
  resample,  // its output at the same position of the next document
};

template <>
inline constexpr auto kChoices<AblationMode> =
    std::to_array<Choice<AblationMode>>({{"zero", AblationMode::zero},
                                         {"mean", AblationMode::mean},
                                         {"resample", AblationMode::resample}});

struct AblationOptions {
  AblationMode mode = AblationMode::zero;
  HeadSet heads = {};    // to ablate one at a time; empty: all
  Index pair_heads = 0;  // also ablate all pairs among this many of the most important heads
  // Measure instead of the loss, for each token to predict; kl: from the unchanged model's
  // prediction. logit_difference needs answers, which only patching has.
  MetricKind metric = MetricKind::loss;
  Index batch_size = 12;
  BootstrapOptions bootstrap = {};
  std::optional<Masking> masking = {};  // the loss of hidden tokens, for bidirectional models
  Processes* processes = nullptr;       // share the batches: all call it and get the whole result
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// Rise of the loss (or another metric) when a head is ablated, in nats a token.
struct HeadEffect {
  HeadId head;
  Interval rise;
};

// Rise of the loss when two heads are ablated together. `beyond` is that rise minus both single
// rises: above 0 if each head compensates for the other, below 0 if they work together.
struct PairEffect {
  HeadId first;
  HeadId second;
  Interval rise;
  Interval beyond;
};

struct AblationResult {
  Interval loss;                  // or other metric, of the whole model
  std::vector<HeadEffect> heads;  // sorted by HeadId
  std::vector<PairEffect> pairs;  // sorted by `beyond`, largest first
  Index sequences = 0;            // documents, split at the context length
  Index tokens = 0;               // targets
};

// Measures the loss over the data with one head's output replaced, for each head. Layers below the
// head are computed once for all heads: all heads together cost about half as many forward passes
// as there are heads. Intervals are over sequences, paired.
//
// Throws Error for heads that do not exist, for fewer than 2 pair_heads (except 0), for data
// without targets, for resample with a single document, and about "metric" for logit_difference.
AblationResult ablate_heads(const LanguageModel& model, const TokenDataset& data,
                            const AblationOptions& options = {});

}  // namespace headlight
