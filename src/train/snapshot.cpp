#include "train/snapshot.h"

#include <algorithm>

namespace headlight {
namespace {

// The state of an optimizer, which cannot make updates.
class OptimizerState : public Optimizer {
 public:
  explicit OptimizerState(const Optimizer& of) {
    for (const auto& [name, tensor] : of.state()) {
      state_.emplace_back(name, Tensor::empty(tensor.shape(), tensor.dtype()));
    }
  }

  void step(double, double) override { fail("[Snapshot] a copy of an optimizer makes no updates"); }
  NamedTensors state() const override { return state_; }

 private:
  NamedTensors state_;
};

void copy_all(const NamedTensors& from, const NamedTensors& to) {
  require(from.size() == to.size(), "[Snapshot] made for another model");
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Tensor& source = from[i].second;
    Tensor target = to[i].second.detach();
    require(source.shape() == target.shape(), "[Snapshot] made for another model");
    dispatch_floating(source.dtype(), "Snapshot", [&](auto zero) {
      using T = decltype(zero);
      std::copy_n(source.data<T>(), source.numel(), target.mutable_data<T>());
    });
  }
}

}  // namespace

Snapshot::Snapshot(const Gpt& model, const Optimizer& optimizer)
    : model_(Gpt::blank(model.config(), model.dtype())),
      optimizer_(std::make_unique<OptimizerState>(optimizer)) {}

Snapshot::~Snapshot() = default;

// Parameters and moments are contiguous: optimizers see to that.
void Snapshot::take(const Gpt& model, const Optimizer& optimizer) {
  copy_all(model.parameters(), model_->parameters());
  copy_all(optimizer.state(), optimizer_->state());
  optimizer_->set_step_count(optimizer.step_count());
}

}  // namespace headlight
