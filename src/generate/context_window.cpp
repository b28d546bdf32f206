#include "generate/context_window.h"

#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"

namespace headlight {

ContextWindow::ContextWindow(const Gpt& model, std::vector<std::int32_t> tokens, bool use_cache)
    : model_(&model), tokens_(std::move(tokens)), use_cache_(use_cache) {}

Tensor ContextWindow::next_logits() {
  if (static_cast<Index>(tokens_.size()) > model_->config().block_size) {
    shorten();
  }
  return use_cache_ ? logits_from_cache() : logits_from_all();
}

// Keys and values depend on positions, so those of the tokens that stay are computed anew. Keeping
// half of the block makes that rare.
void ContextWindow::shorten() {
  const Index kept = (model_->config().block_size + 1) / 2;
  tokens_.erase(tokens_.begin(), tokens_.end() - kept);
  for (KeyValueView& layer : cache_.layers) {
    layer.length = 0;
  }
  cache_.length = 0;
}

Tensor ContextWindow::logits_from_cache() {
  if (cache_.layers.empty()) {
    cache_ = model_->make_cache();
  }
  return model_->next_logits({tokens_.begin() + cache_.length, tokens_.end()}, cache_);
}

Tensor ContextWindow::logits_from_all() const {
  const NoGrad no_grad;
  const auto count = static_cast<Index>(tokens_.size());
  const Tensor last = slice(model_->hidden(make_batch({tokens_})), 0, count - 1, count);
  return reshape(linear(last, model_->head_weight()), {model_->config().vocab_size});
}

}  // namespace headlight
