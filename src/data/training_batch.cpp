#include "headlight/data/training_batch.h"

#include <algorithm>
#include <numeric>

#include "headlight/data/learned_tokens.h"

namespace headlight {

Batch training_batch(const std::vector<std::vector<std::int32_t>>& sequences) {
  Batch batch;
  batch.offsets = {0};
  for (const auto& ids : sequences) {
    if (ids.size() > 1) {
      batch.offsets.push_back(batch.offsets.back() + std::ssize(ids) - 1);
    }
  }
  require(batch.token_count() > 0,
          "[training_batch] no sequence has two tokens, so there is no target");
  for (Tensor* field : {&batch.tokens, &batch.positions, &batch.targets}) {
    *field = Tensor::empty({batch.token_count()}, DType::int32);
  }
  std::int32_t* tokens = batch.tokens.data<std::int32_t>();
  std::int32_t* positions = batch.positions.data<std::int32_t>();
  std::int32_t* targets = batch.targets.data<std::int32_t>();
  for (const auto& ids : sequences) {
    if (ids.size() > 1) {
      tokens = std::transform(ids.begin(), ids.end() - 1, tokens, id_of);
      targets = std::transform(ids.begin() + 1, ids.end(), targets, [](std::int32_t token) {
        return is_learned(token) ? token : kIgnoreTarget;
      });
      std::iota(positions, positions + ids.size() - 1, 0);
      positions += ids.size() - 1;
    }
  }
  batch.target_count =
      batch.token_count() - std::count(batch.targets.data<std::int32_t>(), targets, kIgnoreTarget);
  return batch;
}

}  // namespace headlight
