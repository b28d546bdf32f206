#pragma once

#include <unordered_map>

#include "generate/decoder_model.h"

namespace headlight {

// The products of a forward pass by the matrices that steps read.
class PackedProducts final : public WeightProducts {
 public:
  // The model must outlive it.
  explicit PackedProducts(const DecoderModel& model);
  Tensor multiply(const Linear& linear, const Tensor& x) const override;

 private:
  std::unordered_map<const float*, const PackedMatrix*> matrices_;  // by the weights' elements
};

}  // namespace headlight
