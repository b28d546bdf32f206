#pragma once

#include <memory>
#include <utility>

#include "headlight/nn/gpt.h"
#include "nn/packed/packed_matrix.h"

namespace headlight {

// A weight as the panels of generation steps.
class PackedWeight final : public StoredWeight {
 public:
  explicit PackedWeight(PackedMatrix matrix)
      : matrix_(std::make_shared<const PackedMatrix>(std::move(matrix))) {}

  Tensor product(const Tensor& x, Precision precision) const override {
    return packed_linear(x, matrix_, precision);
  }
  Tensor rows(const Tensor& ids) const override;
  Tensor weight() const override { return matrix_->unpacked(0, matrix_->rows()); }
  bool is_rounded() const override { return matrix_->is_rounded(); }
  const PackedMatrix& matrix() const { return *matrix_; }

 private:
  std::shared_ptr<const PackedMatrix> matrix_;
};

// Returns true for the weights that store_packed() accepts: matrices of layers, the token embedding
// and the head.
bool is_packable(const Weight& weight);

// Returns the bias that the panels of a weight hold; undefined if there is none.
Tensor bias_of(const Gpt& model, const Weight& weight);

// Replaces the elements of a frozen weight by panels, which hold its bias as well. A tied head uses
// the panels of the token embedding.
void store_packed(Gpt& model, const Weight& weight, PackedMatrix matrix);

// Packs the matrices, the head and the token embedding, and freezes the model. An embedding that is
// not the head stays float32.
void pack_all_matrices(Gpt& model, WeightFormat format);

// Returns the other form of a parameter of a model, by its name; null if it has none.
const StoredWeight* stored_form(const Module& model, std::string_view parameter);

// Returns the panels of a weight, of the head or of the token embedding, if the model stores it as
// such, without low-rank updates; else null.
const PackedMatrix* packed_matrix(const Gpt& model, const Weight& weight);
const PackedMatrix* packed_head(const Gpt& model);
const PackedMatrix* packed_token_embedding(const Gpt& model);

}  // namespace headlight
