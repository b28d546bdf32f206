#pragma once

#include <string>

#include "headlight/heads/attention_maps.h"

namespace headlight {

// Every recorded head as one self-contained interactive page (HTML, CSS and JavaScript in one file
// that asks the network for nothing). It shows a thumbnail of each head, layers as rows; a head
// opens as a heat map beside the running text, whose tokens are coloured by the weight that a
// chosen token gives or receives. Adding "#2.3" to the address opens head 3 of layer 2, "#2.3/17"
// chooses its token 17, "#2.3/17/receives" shows who looks at it.
//
// Weights are embedded as 16-bit integers (error at most 1/131070), only the lower triangle when
// nothing looks ahead. Tokens and title may hold anything: they are escaped.
//
// Throws Error when there is no layer, a layer comes twice or does not fit maps.tokens (see
// attention_svg), or the embedded weights would exceed 256 MiB.
std::string attention_html(const AttentionMaps& maps);

}  // namespace headlight
