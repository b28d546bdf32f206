#pragma once

#include <cstdint>
#include <vector>

#include "headlight/nn/linear.h"

namespace headlight {

// A frozen weight [R, I] without bias, some of whose rows are trained: copies of them are a
// parameter, and replace them.
class TrainedRows final : public StoredWeight {
 public:
  // Requires ascending ids of rows.
  TrainedRows(Tensor weight, std::vector<std::int32_t> ids);

  // Returns the parameter [N, I].
  const Tensor& parameter() const { return parameter_; }
  // Also have gradients for the trained rows.
  Tensor product(const Tensor& x, Precision precision) const override;
  Tensor rows(const Tensor& ids) const override;
  Tensor weight() const override;
  bool is_rounded() const override { return false; }

 private:
  Tensor weight_;
  std::vector<std::int32_t> ids_;
  Tensor parameter_;
};

}  // namespace headlight
