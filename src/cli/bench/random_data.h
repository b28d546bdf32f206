#pragma once

#include <cstdint>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/tensor/random.h"

namespace headlight::cli {

// Documents of random tokens with 1 to `longest` inputs, uniformly distributed.
TokenDataset random_documents(Index count, Index longest, Index vocab_size,
                              const RandomStream& lengths);

// Random ids below `vocab_size`, equal at every call with the same `stream`.
std::vector<std::int32_t> random_tokens(Index count, Index vocab_size, std::uint64_t stream);

}  // namespace headlight::cli
