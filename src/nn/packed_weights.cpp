#include "headlight/nn/packed_weights.h"

#include "headlight/nn/architecture.h"
#include "headlight/nn/linear.h"
#include "ops/packed_matrix.h"

namespace headlight {
namespace {

class PackedWeight final : public StoredWeight {
 public:
  PackedWeight(const Linear& linear, WeightFormat format)
      : matrix_(std::make_shared<const PackedMatrix>(linear.weight, linear.bias, format)) {}
  Tensor product(const Tensor& x, Precision precision) const override {
    return packed_linear(x, matrix_, precision);
  }
  Tensor weight() const override { return matrix_->unpacked(0, matrix_->rows()); }

 private:
  std::shared_ptr<const PackedMatrix> matrix_;
};

}  // namespace

void pack_matrices(Gpt& model, WeightFormat format) {
  for (const auto& [weight, tensor] : model.weights()) {
    if (is_hidden_matrix(weight)) {
      const auto part = std::string_view(weight.name).substr(0, weight.name.rfind('.'));
      auto& linear = dynamic_cast<Linear&>(*model.find_part(part));
      linear.store(std::make_shared<const PackedWeight>(linear, format));
    }
  }
  release_unused_storage();
}

}  // namespace headlight
