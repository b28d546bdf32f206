#pragma once

#include "support/test.h"

namespace headlight::test {

// Replaces the values at one point, in one layer or in all, by a function of them.
class HookAt final : public ForwardHook {
 public:
  using Change = std::function<Tensor(const Tensor&)>;

  HookAt(Point point, std::optional<Index> layer, Change change)
      : point_(point), layer_(layer), change_(std::move(change)) {}

  bool wants(Point point, Index layer) const override {
    return point == point_ && layer_.value_or(layer) == layer;
  }
  Tensor visit(const HookSite&, const Tensor& value) override {
    ++calls;
    return change_(value);
  }

  int calls = 0;

 private:
  Point point_;
  std::optional<Index> layer_;
  Change change_;
};

}  // namespace headlight::test
