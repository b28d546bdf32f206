#include "headlight/datasets/batches/training_batch.h"

#include <algorithm>
#include <numeric>

#include "headlight/datasets/learned_tokens.h"

namespace headlight {
namespace {

using Sequences = std::vector<std::vector<std::int32_t>>;

bool is_pair(const std::vector<std::int32_t>& ids) {
  return std::find(ids.begin(), ids.end(), kPairBreak) != ids.end();
}

// Returns the two sequences of each pair.
Sequences parts_of_pairs(const Sequences& pairs) {
  Sequences parts;
  for (const auto& ids : pairs) {
    const auto middle = std::find(ids.begin(), ids.end(), kPairBreak);
    require(middle - ids.begin() > 1 && ids.end() - middle > 2,
            "[training_batch] expected pairs of answers with at least two tokens each");
    parts.emplace_back(ids.begin(), middle);
    parts.emplace_back(middle + 1, ids.end());
  }
  return parts;
}

}  // namespace

Batch training_batch(const Sequences& sequences) {
  if (std::any_of(sequences.begin(), sequences.end(), is_pair)) {
    Batch batch = training_batch(parts_of_pairs(sequences));
    batch.pairs = true;
    return batch;
  }
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
