#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/dataset.h"
#include "headlight/distributed/processes.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/interpret/head_set.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/point.h"

// Ablation of any parts of a model: heads, MLPs, layers, neurons; one at a time or together.
namespace headlight {

// Parts ablated together in one experiment. parse_targets() parses their text form.
struct PartSet {
  std::string name = {};  // "5.1, mlp.3"
  std::vector<PointRange> targets = {};
  NumberRange positions = {};  // token positions in their sequences
};

// Returns the set of one head, by its name.
PartSet head_part(const HeadId& id);

// Kinds of parts that are ablated one at a time. `layer`: attention and MLP of a layer.
enum class PartKind { head, attn, mlp, layer, neuron };

template <>
inline constexpr auto kChoices<PartKind> =
    std::to_array<Choice<PartKind>>({{"head", PartKind::head},
                                     {"attn", PartKind::attn},
                                     {"mlp", PartKind::mlp},
                                     {"layer", PartKind::layer},
                                     {"neuron", PartKind::neuron}});

// Returns one set for each part of a kind in these layers: one a layer for attn, mlp and layer, one
// a head, or one a neuron with a number of `items`. Heads are in the order of HeadSet::all().
// Throws Error about "layers" and "items" for layers and neurons that the model does not have, and
// about "by" for neurons of a model without them.
std::vector<PartSet> each_part(const LanguageModel& model, PartKind kind,
                               const NumberRange& layers = {}, const NumberRange& items = {});

// Returns the lowest layer that the part changes; -1: the embedding; the number of layers: none.
Index first_layer(const PartSet& part, const LanguageModel& model);

// Replacement for the values of a part, [N, ...].
enum class AblationMode {
  zero,      // zeros
  mean,      // their mean over all tokens of the data
  resample,  // those at the same position of the next document
};

template <>
inline constexpr auto kChoices<AblationMode> =
    std::to_array<Choice<AblationMode>>({{"zero", AblationMode::zero},
                                         {"mean", AblationMode::mean},
                                         {"resample", AblationMode::resample}});

struct AblationOptions {
  AblationMode mode = AblationMode::zero;
  Index joint = 0;  // also ablate all pairs among this many of the most important sets
  // Measure instead of the loss, for each token to predict; kl: from the unchanged model's
  // prediction. logit_difference needs answers, which only patching has.
  MetricKind metric = MetricKind::loss;
  Index batch_size = 12;
  Index memory = 0;  // bytes of changed passes at once; 0: a quarter of what is free
  BootstrapOptions bootstrap = {};
  std::optional<Masking> masking = {};  // the loss of hidden tokens, for bidirectional models
  Processes* processes = nullptr;       // share the batches: all call it and get the whole result
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// Rise of the loss when two sets are ablated together. `beyond` is that rise minus both single
// rises: above 0 if each compensates for the other, below 0 if they work together.
struct PairEffect {
  std::size_t first;   // index of the set
  std::size_t second;  // a later one
  Interval rise;
  Interval beyond;
};

struct AblationResult {
  Interval loss;                  // or other metric, of the whole model
  std::vector<Interval> rises;    // without each set, in nats a token, in the order of the sets
  std::vector<PairEffect> pairs;  // sorted by `beyond`, largest first
  Index sequences = 0;            // documents, split at the context length
  Index tokens = 0;               // targets
};

// Measures the loss over the data once for each set of parts, with the whole set replaced. Layers
// below the first changed one are computed once for all sets: all heads, one at a time, cost about
// half as many forward passes as there are heads. Means come from one pass of the unchanged model
// over the data. Intervals are over sequences, paired.
//
// Throws Error about "parts" for targets that the model does not have, for attention maps with
// another mode than zero and for no parts; about "joint" for 1; about "mode" for resample with a
// single document; about "metric" for logit_difference; and for data without targets.
AblationResult ablate(const LanguageModel& model, const TokenDataset& data,
                      const std::vector<PartSet>& parts, const AblationOptions& options = {});

}  // namespace headlight
