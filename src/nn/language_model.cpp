#include "headlight/nn/language_model.h"

#include "headlight/ops/cross_entropy.h"

namespace headlight {

Tensor LanguageModel::loss(const Batch& batch, const ForwardContext& context,
                           Index normalizer) const {
  require(batch.targets.defined(), "[LanguageModel] the batch has no targets");
  return cross_entropy(logits(batch, context), batch.targets,
                       {.ignore_index = kIgnoreTarget,
                        .normalizer = normalizer,
                        .label_smoothing = context.label_smoothing,
                        .z_loss = context.z_loss});
}

Tensor LanguageModel::next_logits(const Batch& batch, const ForwardContext& context) const {
  return last_rows(logits(batch, context), batch);
}

}  // namespace headlight
