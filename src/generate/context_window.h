#pragma once

#include <vector>

#include "headlight/nn/gpt.h"

namespace headlight {

// The latest tokens of a text, as many as the model has positions for.
class ContextWindow {
 public:
  // The model must outlive the window; `tokens` must not be empty.
  ContextWindow(const Gpt& model, std::vector<std::int32_t> tokens, bool use_cache);

  void append(std::int32_t id) { tokens_.push_back(id); }
  // Logits [V] of the token that follows. Throws Error for an id outside the vocabulary.
  Tensor next_logits();

 private:
  void shorten();
  Tensor logits_from_cache();
  Tensor logits_from_all() const;

  const Gpt* model_;
  std::vector<std::int32_t> tokens_;  // token i has position i
  bool use_cache_;
  KeyValueCache cache_;  // of the first cache_.length tokens; no layers before its first use
};

}  // namespace headlight
