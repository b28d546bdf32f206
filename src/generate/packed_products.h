#pragma once

#include <unordered_map>

#include "generate/decoder_model.h"

namespace headlight {

// Matrix products of a forward pass with the packed matrices of the steps.
class PackedProducts final : public WeightProducts {
 public:
  // The model must outlive it.
  explicit PackedProducts(const DecoderModel& model);
  Tensor multiply(const Linear& linear, const Tensor& x) const override;

 private:
  // keyed by the address of the weights
  std::unordered_map<const float*, const PackedMatrix*> matrices_;
};

}  // namespace headlight
