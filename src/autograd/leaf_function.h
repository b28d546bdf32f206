#pragma once

#include "headlight/autograd/autograd.h"

namespace headlight {

// During its lifetime, `on_leaf` is the leaf function of the backward pass on this thread, so that
// passes within it (see recomputed()) call it, too.
class LeafFunctionScope {
 public:
  explicit LeafFunctionScope(const LeafFunction& on_leaf) : previous_(innermost) {
    innermost = &on_leaf;
  }
  ~LeafFunctionScope() { innermost = previous_; }
  LeafFunctionScope(const LeafFunctionScope&) = delete;
  LeafFunctionScope& operator=(const LeafFunctionScope&) = delete;

  // Returns the function of the innermost pass; empty outside of passes.
  static LeafFunction current() { return innermost == nullptr ? LeafFunction() : *innermost; }

 private:
  static inline thread_local const LeafFunction* innermost = nullptr;

  const LeafFunction* previous_;
};

}  // namespace headlight
