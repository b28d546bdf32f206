#pragma once

#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/datasets/dataset.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"

// Ablation of any parts of a model, one at a time or together.
namespace headlight {

// Parts ablated together in one experiment. parse_targets() parses their text form.
struct PartSet {
  std::string name = {};  // "5.1, mlp.3"
  std::vector<PointRange> targets = {};
  NumberRange positions = {};  // token positions in their sequences
};

// Rise of the loss without these parts, in nats a token.
struct PartEffect {
  std::string name;
  Interval rise;
};

struct PartAblationResult {
  Interval loss;                  // of the whole model
  std::vector<PartEffect> parts;  // in input order
  Index sequences = 0;            // documents, split at the context length
  Index tokens = 0;               // targets
};

// Runs the model over the data once for each set of parts, with the whole set replaced by
// Interventions. Layers below the first changed one are computed once for all sets. Means come from
// one pass of the unchanged model over the data. Intervals are as in ablate_heads().
//
// Reads no `heads` and `pair_heads` of the options. Throws Error about "mode" for resample, which
// only heads one by one have, about "parts" for targets that the model does not have and for
// attention maps with mode mean, for no parts, and for data without targets.
PartAblationResult ablate_parts(const Gpt& model, const TokenDataset& data,
                                const std::vector<PartSet>& parts,
                                const AblationOptions& options = {});

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
// a head, or one a neuron with a number of `items`. Throws Error about "layers" and "items" for
// those that the model does not have, and about "by" for neurons of a model without them.
std::vector<PartSet> each_part(const Gpt& model, PartKind kind, const NumberRange& layers = {},
                               const NumberRange& items = {});

// Returns the set of one head, by its name.
PartSet head_part(const HeadId& id);

// Returns the lowest layer that the part changes; -1: the embedding, n_layer: none.
Index first_layer(const PartSet& part, const Gpt& model);

}  // namespace headlight
