#include "headlight/data/training_batch.h"

#include <algorithm>
#include <numeric>

namespace headlight {

Batch training_batch(const std::vector<std::vector<std::int32_t>>& sequences) {
  Batch batch;
  batch.offsets = {0};
  for (const auto& ids : sequences) {
    if (ids.size() > 1) {
      batch.offsets.push_back(batch.offsets.back() + std::ssize(ids) - 1);
    }
  }
  batch.target_count = batch.offsets.back();
  require(batch.target_count > 0,
          "[training_batch] no sequence has two tokens, so there is no target");
  for (Tensor* field : {&batch.tokens, &batch.positions, &batch.targets}) {
    *field = Tensor::empty({batch.target_count}, DType::int32);
  }
  std::int32_t* tokens = batch.tokens.data<std::int32_t>();
  std::int32_t* positions = batch.positions.data<std::int32_t>();
  std::int32_t* targets = batch.targets.data<std::int32_t>();
  for (const auto& ids : sequences) {
    if (ids.size() > 1) {
      tokens = std::copy(ids.begin(), ids.end() - 1, tokens);
      targets = std::copy(ids.begin() + 1, ids.end(), targets);
      std::iota(positions, positions + ids.size() - 1, 0);
      positions += ids.size() - 1;
    }
  }
  return batch;
}

}  // namespace headlight
