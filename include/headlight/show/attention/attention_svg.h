#pragma once

#include <string>

#include "headlight/interpret/attention_maps.h"
#include "headlight/show/attention/attention_style.h"

namespace headlight {

// Returns one layer as an SVG figure with a panel for each head: rows are queries, columns are
// keys. Cells show their weights for up to 12 tokens. Tokens label both axes for up to 64 tokens;
// longer texts get position ticks. Above 256 tokens a cell shows the largest weight of a k x k
// block. The colour scale is fixed from 0 to 1, so figures are comparable: linear up to 12 tokens,
// square root above. Cells above the diagonal are blank if the head gives them no weight. The
// background is white, and the figure refers to no other file.
//
// Throws Error if `layer` does not fit maps.tokens, holds no head, holds a head twice, or has
// weights that are not float32 in [0, 1].
std::string attention_svg(const AttentionMaps& maps, const LayerAttention& layer,
                          const AttentionStyle& style = {});

}  // namespace headlight
