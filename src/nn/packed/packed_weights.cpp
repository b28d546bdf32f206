#include "headlight/nn/packed/packed_weights.h"

#include "headlight/nn/architecture.h"
#include "headlight/nn/linear.h"
#include "kernels/threads/parallel.h"
#include "nn/packed/packed_weight.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Returns the name of the module that has a parameter.
std::string_view module_of(std::string_view parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

const PackedMatrix* panels_of(const StoredWeight* stored) {
  const auto* packed = dynamic_cast<const PackedWeight*>(stored);
  return packed == nullptr ? nullptr : &packed->matrix();
}

}  // namespace

Tensor PackedWeight::rows(const Tensor& ids) const {
  require_type(ids, DType::int32, "embedding", "ids");
  Shape shape = ids.shape();
  shape.push_back(matrix_->columns());
  Tensor result = Tensor::empty(shape);
  const Tensor whole = to_contiguous(ids);
  kernels::parallel_for(
      whole.numel(), kernels::row_grain(matrix_->columns()), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
          const std::int32_t id = whole.data<std::int32_t>()[i];
          require(id >= 0 && id < matrix_->rows(), "[embedding] expected ids from 0 to ",
                  matrix_->rows() - 1, ", got ", id);
          matrix_->unpack_row(id, result.data<float>() + i * matrix_->columns());
        }
      });
  return result;
}

Tensor bias_of(const Gpt& model, const Weight& weight) {
  if (is_hidden_matrix(weight)) {
    return model.bias(weight.part, weight.layer);
  }
  const bool is_head = weight.part == Part::head || model.config().tie_weights;
  return is_head ? model.head_bias() : Tensor();
}

bool is_packable(const Weight& weight) {
  return is_hidden_matrix(weight) || weight.part == Part::token_embedding ||
         (weight.part == Part::head && !weight.is_bias);
}

void store_packed(Gpt& model, const Weight& weight, PackedMatrix matrix) {
  auto stored = std::make_shared<const PackedWeight>(std::move(matrix));
  Module& part = *model.find_part(module_of(weight.name));
  if (auto* embedding = dynamic_cast<Embedding*>(&part)) {
    embedding->store(std::move(stored));
  } else {
    dynamic_cast<Linear&>(part).store(std::move(stored));
  }
}

const StoredWeight* stored_form(const Module& model, std::string_view parameter) {
  const Module* part = model.find_part(module_of(parameter));  // null for the bias of a tied head
  if (const auto* embedding = dynamic_cast<const Embedding*>(part)) {
    return embedding->stored();
  }
  const auto* linear = dynamic_cast<const Linear*>(part);
  return linear == nullptr ? nullptr : linear->stored();
}

const PackedMatrix* packed_matrix(const Gpt& model, const Weight& weight) {
  const auto* linear = dynamic_cast<const Linear*>(model.find_part(module_of(weight.name)));
  const bool is_updated = linear != nullptr && !linear->updates().empty();
  return is_updated ? nullptr : panels_of(stored_form(model, weight.name));
}

const PackedMatrix* packed_head(const Gpt& model) { return panels_of(model.stored_head()); }

const PackedMatrix* packed_token_embedding(const Gpt& model) {
  return panels_of(model.stored_embedding());
}

void pack_all_matrices(Gpt& model, WeightFormat format) {
  for (const auto& [weight, tensor] : model.weights()) {
    Tensor(tensor).set_requires_grad(false);
  }
  for (const auto& [weight, tensor] : model.weights()) {
    if (is_packable(weight)) {
      store_packed(model, weight,
                   in_place(weight.name + " ", [&, &weight = weight, &tensor = tensor] {
                     return PackedMatrix(tensor, bias_of(model, weight),
                                         weight.multiplied ? format : WeightFormat::float32);
                   }));
    }
  }
  release_unused_storage();
}

void pack_matrices(Gpt& model, WeightFormat format) {
  for (const auto& [weight, tensor] : model.weights()) {
    if (is_hidden_matrix(weight)) {
      const auto& linear = dynamic_cast<const Linear&>(*model.find_part(module_of(weight.name)));
      store_packed(model, weight, PackedMatrix(linear.weight, linear.bias, format));
    }
  }
  release_unused_storage();
}

}  // namespace headlight
