#pragma once

#include <functional>
#include <memory>

#include "headlight/nn/gpt.h"

namespace headlight::serve {

// Throws Error about "max_work" if `tokens` exceeds `most`. Both are in tokens times passes.
void require_work(Index tokens, Index most);

// Computation of one request on a model, in slices: others compute between its layers. The
// request's changes are attached to the model while this exists.
class Work {
 public:
  struct Options {
    Index most = 0;  // tokens times passes
    // Called after every slice, with the changes detached; lets others compute. May throw.
    std::function<void()> give_way = [] {};
    std::function<void(double share)> tell = [](double) {};     // completed share
    std::function<void(double tokens)> on_end = [](double) {};  // tokens times passes computed
  };

  // A slice ends after the layer that brings the rows since the last slice to this number. A step
  // of other sequences may follow each slice; short questions need not wait for one.
  static constexpr Index kSliceRows = 256;

  Work(Gpt& model, Options options);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Checks a request's work, in tokens times passes, before any computation. Throws as
  // require_work().
  void begin(Index tokens) const { require_work(tokens, options_.most); }
  void change(std::shared_ptr<ForwardHook> hook);
  // Ends a slice outside a layer.
  void give_way();
  // Ends a slice when a share of the work, 0 to 1, is complete.
  void give_way(double share) {
    options_.tell(share);
    give_way();
  }

 private:
  void attach(bool mine);
  void count(Index rows);

  Gpt& model_;
  Options options_;
  std::shared_ptr<ForwardHook> hook_;  // null: the unchanged model
  Index rows_ = 0;                     // processed by layers
  Index slice_rows_ = 0;
};

}  // namespace headlight::serve
