#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/nn/gpt.h"

namespace headlight::serve {

// Throws Error about "max_work" if `tokens` exceeds `most`. Both are in tokens times passes.
inline void require_work(Index tokens, Index most) {
  require_value(tokens <= most, "max_work", "expected a request for at most ", most,
                " tokens times passes, got one for ", tokens,
                ": ask for less at once, or start the server with a larger --max_work");
}

// Computation of one request on a model, in slices: others compute between its layers. The
// request's changes are attached to the model while this exists.
class Work {
 public:
  struct Options {
    Index most = 0;  // tokens times passes
    // Called after every slice, with the changes detached; lets others compute. May throw.
    std::function<void()> yield_to_urgent = [] {};
    std::function<void(double share)> on_progress = [](double) {};  // completed share
    std::function<void(double tokens)> on_end = [](double) {};      // tokens times passes computed
  };

  // A slice ends after the layer that brings the rows since the last slice to this number. A step
  // of other sequences may follow each slice; short questions need not wait for one.
  static constexpr Index kSliceRows = 256;

  Work(Gpt& model, Options options) : model_(model), options_(std::move(options)) { attach(); }
  ~Work() {
    detach();
    options_.on_end(static_cast<double>(rows_) / static_cast<double>(model_.config().n_layer));
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Checks a request's work, in tokens times passes, before any computation. Throws as
  // require_work().
  void begin(Index tokens) const { require_work(tokens, options_.most); }
  void change(std::shared_ptr<ForwardHook> hook) {
    hook_ = std::move(hook);
    attach();
  }
  // Ends a slice outside a layer.
  void yield_to_urgent() {
    slice_rows_ = 0;
    detach();
    {
      const NoGrad records(false);  // others may need gradients where this work does not
      options_.yield_to_urgent();
    }
    attach();
  }
  // Ends a slice when a share of the work, 0 to 1, is complete.
  void yield_to_urgent(double share) {
    options_.on_progress(share);
    yield_to_urgent();
  }

 private:
  void attach() {
    model_.attach(hook_);
    model_.call_after_layers([this](Index rows) { count(rows); });
  }
  void detach() {
    model_.attach(nullptr);
    model_.call_after_layers({});
  }
  void count(Index rows) {
    rows_ += rows;
    slice_rows_ += rows;
    if (slice_rows_ >= kSliceRows) {
      yield_to_urgent();
    }
  }

  Gpt& model_;
  Options options_;
  std::shared_ptr<ForwardHook> hook_;  // null: the unchanged model
  Index rows_ = 0;                     // processed by layers
  Index slice_rows_ = 0;
};

}  // namespace headlight::serve
