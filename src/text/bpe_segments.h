#pragma once

#include <string_view>
#include <vector>

#include "text/bpe_state.h"

namespace headlight {

// Plain text and the special token behind it.
struct BpeSegment {
  std::string_view text;
  std::int32_t special = -1;  // -1: none
};

// Segments that one thread encodes.
struct BpeTextPart {
  std::vector<BpeSegment> segments;
  std::size_t bytes = 0;  // of their text
};

// Cuts a text so that the ids of its parts, joined, are those of the whole; in one part unless
// options.parallel.
std::vector<BpeTextPart> split_for_encoding(const BpeState& state, std::string_view text,
                                            const BpeEncodeOptions& options);

}  // namespace headlight
