#include "headlight/formats/gguf/matrix_importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/share.h"
#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/kernels/threads/parallel.h"
#include "headlight/nn/linear.h"
#include "headlight/tensor/tensor.h"

namespace headlight {
namespace {

// Sums of the squares of a matrix's inputs.
struct SquareSums {
  std::vector<double> of_columns = {};
  Index rows = 0;

  void add(const Tensor& inputs);
  std::vector<float> means(const std::string& name) const;
};

void SquareSums::add(const Tensor& inputs) {
  constexpr Index kColumnsAtOnce = 64;
  const Tensor x = to_contiguous(inputs.detach());  // [N, inputs]
  const Index count = x.size(0);
  const Index columns = x.size(1);
  const float* values = x.data<float>();
  of_columns.resize(static_cast<std::size_t>(columns));
  parallel_for(columns, kColumnsAtOnce, [&](Index begin, Index end) {
    for (Index row = 0; row < count; ++row) {
      for (Index column = begin; column < end; ++column) {
        const double value = values[row * columns + column];
        of_columns[static_cast<std::size_t>(column)] += value * value;
      }
    }
  });
  rows += count;
}

std::vector<float> SquareSums::means(const std::string& name) const {
  constexpr double kLeastShare = 0.01;
  const double mean = std::accumulate(of_columns.begin(), of_columns.end(), 0.0) /
                      static_cast<double>(rows * std::ssize(of_columns));
  require(std::isfinite(static_cast<float>(mean)), "the inputs of ", name, " are not finite");
  std::vector<float> result;
  for (const double sum : of_columns) {
    const double square = sum / static_cast<double>(rows);
    // Without any input, all columns are equal.
    result.push_back(mean > 0 ? static_cast<float>(std::max(square, kLeastShare * mean)) : 1.0F);
  }
  return result;
}

// Products of the model's own matrices, whose inputs are added up.
class WatchedProducts final : public WeightProducts {
 public:
  explicit WatchedProducts(const Gpt& model) {
    for (const auto& [weight, tensor] : model.weights()) {
      if (is_hidden_matrix(weight)) {
        const auto part = std::string_view(weight.name).substr(0, weight.name.rfind('.'));
        sums_[model.find_part(part)];
        names_.emplace_back(weight.name, model.find_part(part));
      }
    }
  }
  Tensor multiply(const Linear& linear, const Tensor& x) const override {
    sums_.at(&linear).add(x);
    return linear.forward(x);
  }
  void take(MatrixImportance& result) const {
    for (const auto& [name, part] : names_) {
      result[name] = sums_.at(part).means(name);
    }
  }

 private:
  mutable std::unordered_map<const Module*, SquareSums> sums_;  // by Linear
  std::vector<std::pair<std::string, const Module*>> names_;
};

// Returns the name of the matrix of logits.
std::string logits_matrix(const Gpt& model) {
  const bool is_tied = model.config().tie_weights;
  for (const Weight& weight : weights_of(model.config())) {
    if (weight.part == (is_tied ? Part::token_embedding : Part::head) && !weight.is_bias) {
      return weight.name;
    }
  }
  return "";
}

}  // namespace

MatrixImportance measure_importance(const Gpt& model, const TokenDataset& data,
                                    const CalibrationOptions& options) {
  const NoGrad no_grad;
  const Index block = std::min(options.block_size, model.block_size());
  const SequentialBatches all(data, {.batch_size = options.batch_size, .block_size = block});
  const SequentialBatches batches =
      all.at_most(std::max<Index>(all.count() * options.max_tokens / data.token_count, 1));
  const WatchedProducts products(model);
  SquareSums hidden;
  for (Index i = 0; i < batches.count(); ++i) {
    hidden.add(model.hidden(batches.batch(i), {.products = &products}));
    options.progress(share_of(i + 1, batches.count()));
  }
  MatrixImportance result;
  products.take(result);
  const std::string logits = logits_matrix(model);
  result[logits] = hidden.means(logits);
  return result;
}

}  // namespace headlight
