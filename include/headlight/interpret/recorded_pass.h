#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "headlight/nn/gpt.h"

namespace headlight {

// Returns the first position that a pass computes if a text's values before `position` are known:
// `position` in models with a cache, else 0.
Index first_computed(const LanguageModel& model, Index position);

// A pass without gradients, from which later passes of the same tokens continue: at any layer, and
// with caches at any token.
struct RecordedPass {
  Batch batch;
  std::vector<Tensor> residuals;  // [L + 1] of [N, C]: the inputs of the layers, and the result
  Tensor ends;                    // final hidden states, [N, C]
  std::vector<std::shared_ptr<KeyValueCache>> caches;  // [B]; empty: none are kept
};

// Runs the model with a context without caches, whose hook does not see the embedding.
// `keeps_keys`: keep caches, if the model has them and is not changed.
RecordedPass record_pass(const LanguageModel& model, Batch batch, ForwardContext context = {},
                         bool keeps_keys = true);

// The last passes of a model whose weights do not change, so that questions about one text share
// them. Belongs to one thread. The model must outlive it.
class RecordedPasses {
 public:
  // Keeps passes of about `most_bytes` in all.
  explicit RecordedPasses(const Gpt& model, double most_bytes = 64e6)
      : model_(model), most_bytes_(most_bytes) {}

  // Returns whether a pass of so many tokens can be kept; false while hooks change the model.
  bool keeps(Index tokens) const;
  // Returns whether a pass for the values of a text of `length` tokens from `position` on begins
  // there.
  bool continues(Index length, Index position) const {
    return first_computed(model_, position) > 0 && keeps(length);
  }
  // Returns the pass of a batch, from the kept ones or recorded now; null: it cannot be kept. Of a
  // single sequence it may be the first part of a longer one, whose caches are longer, too.
  std::shared_ptr<const RecordedPass> of(const Batch& batch);
  void keep(RecordedPass pass);

 private:
  bool has_tokens(const Batch& batch, const Batch& wanted) const;

  const Gpt& model_;
  double most_bytes_;
  std::deque<std::shared_ptr<const RecordedPass>> kept_;  // the last one used first
};

}  // namespace headlight
