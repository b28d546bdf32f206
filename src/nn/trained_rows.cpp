#include "nn/trained_rows.h"

#include <algorithm>
#include <utility>

#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"

namespace headlight {

TrainedRows::TrainedRows(Tensor weight, std::vector<std::int32_t> ids)
    : weight_(std::move(weight)), ids_(std::move(ids)) {
  require(!ids_.empty() && std::ranges::is_sorted(ids_) && ids_.front() >= 0 &&
              ids_.back() < weight_.size(0) && !weight_.requires_grad(),
          "[TrainedRows] expected a frozen weight, and ascending ids of its ", weight_.size(0),
          " rows");
  parameter_ = embedding(weight_.detach(), Tensor::from(ids_, {std::ssize(ids_)})).clone();
  parameter_.set_requires_grad();  // before others share it
}

Tensor TrainedRows::product(const Tensor& x, Precision precision) const {
  return linear(x, weight(), {}, precision);
}

// Chooses among the rows of both, so that no step copies the whole weight.
Tensor TrainedRows::rows(const Tensor& given) const {
  const Tensor ids = to_contiguous(given);
  Shape column = ids.shape();
  column.push_back(1);
  Tensor indices = Tensor::zeros(ids.shape(), DType::int32);  // in the parameter
  Tensor is_trained = Tensor::zeros(column, DType::boolean);
  for (Index i = 0; i < ids.numel(); ++i) {
    const std::int32_t id = ids.data<std::int32_t>()[i];
    const auto found = std::ranges::lower_bound(ids_, id);
    if (found != ids_.end() && *found == id) {
      indices.data<std::int32_t>()[i] = static_cast<std::int32_t>(found - ids_.begin());
      is_trained.data<bool>()[i] = true;
    }
  }
  return where(is_trained, embedding(parameter_, indices), embedding(weight_, ids));
}

Tensor TrainedRows::weight() const {
  std::vector<Tensor> parts;
  Index end = 0;  // of the rows so far
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] > end) {
      parts.push_back(slice(weight_, 0, end, ids_[i]));
    }
    const auto index = static_cast<Index>(i);
    parts.push_back(slice(parameter_, 0, index, index + 1));
    end = ids_[i] + 1;
  }
  if (end < weight_.size(0)) {
    parts.push_back(slice(weight_, 0, end, weight_.size(0)));
  }
  return concat(parts, 0);
}

}  // namespace headlight
