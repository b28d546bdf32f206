#pragma once

#include <vector>

#include "headlight/nn/language_model.h"
#include "interpret/point_values.h"

// Attention weights times the norms of the vectors that they carry.
namespace headlight {

// Multiplies the weights [H, t, t] of the heads at `indices` in all sequences as
// RecordAttentionOptions::value_weighted describes; `values` holds Point::v [N, G, D]. Throws Error
// about "value_weighted" for models without LanguageModel::attention().
void weight_by_values(const LanguageModel& model, const PointValues& values, Index layer,
                      const std::vector<Index>& indices, std::vector<Tensor>& sequences);

}  // namespace headlight
