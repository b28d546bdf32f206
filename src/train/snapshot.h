#pragma once

#include <memory>

#include "headlight/nn/gpt.h"
#include "headlight/optim/optimizer.h"

namespace headlight {

// A copy of a model and its optimizer's state, to be written to the disk while training goes on
// with the originals. It takes the memory of all of them once.
class Snapshot {
 public:
  Snapshot(const Gpt& model, const Optimizer& optimizer);
  ~Snapshot();

  // Copies what the two hold now; they must be those that the snapshot was made for.
  void take(const Gpt& model, const Optimizer& optimizer);

  const Gpt& model() const { return *model_; }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  std::unique_ptr<Gpt> model_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace headlight
