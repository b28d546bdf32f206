#pragma once

#include <string>

#include "headlight/heads/attention_maps.h"

namespace headlight {

// One layer as an SVG figure: a panel per head, rows are queries, columns are keys. Up to 12 tokens
// the weights are printed in the cells, up to 64 the tokens label both axes; longer texts get
// position ticks, and above 256 tokens a cell shows the largest weight of a k x k block. Colours
// run over a fixed scale from 0 to 1 with a legend (linear up to 12 tokens, square root above), so
// that figures can be compared. The future, and any other weight above the diagonal that is exactly
// 0, stays blank. The figure has a white ground and refers to no other file.
//
// Throws Error when `layer` does not fit maps.tokens, holds no head, holds one head twice, or has
// weights that are not float32 in [0, 1].
std::string attention_svg(const AttentionMaps& maps, const LayerAttention& layer);

}  // namespace headlight
