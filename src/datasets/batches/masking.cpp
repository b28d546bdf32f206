#include "headlight/datasets/batches/masking.h"

#include <algorithm>

namespace headlight {
namespace {

constexpr Index kStride = 7;  // hides every seventh token
constexpr Index kFirst = 1;   // the token after the begin token

}  // namespace

Batch masked_batch(const std::vector<std::vector<std::int32_t>>& sequences,
                   const Masking& masking) {
  Batch batch = make_batch(sequences);
  batch.target_count = 0;
  auto* tokens = batch.tokens.data<std::int32_t>();
  auto* targets = batch.targets.data<std::int32_t>();
  std::fill_n(targets, batch.token_count(), kIgnoreTarget);
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    for (Index n = batch.offsets[b] + kFirst; n < batch.offsets[b + 1]; n += kStride) {
      if (!std::binary_search(masking.kept.begin(), masking.kept.end(), tokens[n])) {
        targets[n] = tokens[n];
        tokens[n] = masking.token;
        ++batch.target_count;
      }
    }
  }
  return batch;
}

}  // namespace headlight
