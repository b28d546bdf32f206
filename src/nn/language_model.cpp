#include "headlight/nn/language_model.h"

#include "headlight/nn/forward_hook.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight {

Tensor LanguageModel::loss(const Batch& batch, const ForwardContext& context,
                           const CrossEntropyOptions& options) const {
  require(batch.targets.defined(), "[LanguageModel] the batch has no targets");
  require_head();
  const Tensor states = hidden(batch, context);
  const std::optional<LinearHead> head = linear_head(context.hook);
  if (!head) {
    return cross_entropy(logits_of(states, context), batch.targets, options);
  }
  CrossEntropyOptions own = options;
  own.cap = head->cap;
  own.precision = context.precision;
  return linear_cross_entropy(states, head->weight, batch.targets, own);
}

Tensor LanguageModel::next_logits(const Batch& batch, const ForwardContext& context) const {
  return last_rows(logits(batch, context), batch);
}

Tensor LanguageModel::hidden_from(Index /*layer*/, const Tensor& /*residual*/, const Batch& batch,
                                  const ForwardContext& context) const {
  if (context.hook != nullptr) {
    context.hook->begin(batch);  // a model of the user may not call it
  }
  return logits(batch, context);
}

Tensor LanguageModel::logit_difference(const Tensor& hidden, std::int32_t token,
                                       std::int32_t other) const {
  const Tensor logits = head_logits(hidden);
  return select(logits, 1, token) - select(logits, 1, other);
}

}  // namespace headlight
