#include "headlight/nn/language_model.h"

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

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

Tensor LanguageModel::residual(const Batch& batch, Index layer,
                               const ForwardContext& /*context*/) const {
  require(layer == 0, "a pass of a model of type '", model_type(), "' has no layer ", layer);
  return batch.tokens;
}

Tensor LanguageModel::run_layers(Index first, Index last, const Tensor& residual,
                                 const Batch& /*batch*/, const ForwardContext& /*context*/) const {
  require(first == 0 && last == 0, "a pass of a model of type '", model_type(), "' has no layer ",
          first);
  return residual;
}

Tensor LanguageModel::hidden_from(Index /*layer*/, const Tensor& /*residual*/, const Batch& batch,
                                  const ForwardContext& context) const {
  if (context.hook != nullptr) {
    context.hook->begin(batch);  // a model of the user may not call it
  }
  return logits(batch, context);
}

Tensor LanguageModel::hidden(const Batch& batch, const ForwardContext& context) const {
  return hidden_from(0, residual(batch, 0, context), batch, context);
}

Tensor LanguageModel::head_logits(const Tensor& hidden, Precision /*precision*/) const {
  return hidden;
}

Tensor LanguageModel::logits_of(const Tensor& hidden, const ForwardContext& /*context*/) const {
  return hidden;
}

Tensor LanguageModel::logit_difference(const Tensor& hidden, std::int32_t token,
                                       std::int32_t other) const {
  const Tensor logits = head_logits(hidden);
  return select(logits, 1, token) - select(logits, 1, other);
}

KeyValueCache LanguageModel::make_cache() const {
  fail("a model of type '", model_type(), "' has no key/value cache");
}

}  // namespace headlight
