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

// Returns the tokens of a text that decide its values up to a position: those up to it, or all
// where tokens see later ones, a hook may expect the whole text, or its length changes the keys.
std::vector<std::int32_t> deciding_tokens(const Gpt& model, std::vector<std::int32_t> text,
                                          Index position);

// The last passes of a model whose weights do not change, so that questions about one text share
// them. Not thread-safe. The model must outlive it.
class RecordedPasses {
 public:
  // Keeps passes of about `most_bytes` in all.
  explicit RecordedPasses(const Gpt& model, double most_bytes = 64e6)
      : model_(model), most_bytes_(most_bytes) {}

  // Returns whether the pass of a batch can be kept; false while hooks change the model.
  bool keeps(const Batch& batch) const { return keeps(rows_kept(batch)); }
  // Returns the kept pass of a batch; null: none. Of a single sequence it may be the first part of
  // a longer one, whose caches are longer, too.
  std::shared_ptr<const RecordedPass> find(const Batch& batch);
  // Returns find(), or the pass recorded now; null: it cannot be kept.
  std::shared_ptr<const RecordedPass> of(const Batch& batch);
  // Keeps a pass of a batch that can be kept.
  std::shared_ptr<const RecordedPass> keep(RecordedPass pass);

 private:
  static Index rows_kept(const Batch& batch);  // with those of caches that are reserved
  bool keeps(Index rows) const;
  bool has_tokens(const Batch& batch, const Batch& wanted) const;

  const Gpt& model_;
  double most_bytes_;
  std::deque<std::shared_ptr<const RecordedPass>> kept_;  // the last one used first
};

}  // namespace headlight
