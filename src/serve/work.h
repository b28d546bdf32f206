#pragma once

#include <functional>
#include <memory>

#include "headlight/nn/gpt.h"

namespace headlight::serve {

// Throws Error about "max_work" for more work than a request may ask for; both in tokens times
// passes.
void require_work(Index tokens, Index most);

// What the computing thread does with a model for one request, in slices: others compute between
// its layers. While this lives the model is changed as the request says.
class Work {
 public:
  struct Options {
    Index most = 0;  // tokens times passes
    // Behind every slice, with the model as it was: lets others compute. Throws what ends the work.
    std::function<void()> give_way = {};
    std::function<void(double share)> tell = {};      // the share that is done, 0 to 1
    std::function<void(double tokens)> on_end = {};  // tokens times passes that were computed
  };

  // A slice ends behind a layer when the layers since the last one have read so many rows together:
  // each can be a token for the texts beside it, which short questions then do not wait for.
  static constexpr Index kSliceRows = 256;

  Work(Gpt& model, Options options);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Says what the request costs, in tokens times passes, before anything is computed. Throws as
  // require_work().
  void begin(Index tokens) const { require_work(tokens, options_.most); }
  void change(std::shared_ptr<ForwardHook> hook);
  // Behind a slice that is no layer.
  void give_way();
  void tell(double share) const;
 private:
  void attach(bool mine);
  void count(Index rows);

  Gpt& model_;
  Options options_;
  std::shared_ptr<ForwardHook> hook_;  // null: the model as it is
  Index rows_ = 0;                     // that layers have read
  Index slice_rows_ = 0;
};

}  // namespace headlight::serve
