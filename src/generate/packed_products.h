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
  std::unordered_map<const float*, const PackedMatrix*> matrices_;  // keyed by weight address
};

}  // namespace headlight
