#include "ops/packed_matrix.h"

#include <algorithm>

#include "headlight/ops/layout.h"
#include "ops/common.h"
#include "ops/matrix.h"

namespace headlight {

namespace {

using kernels::kPanelRows;

// Maximum number of panels for which a section of columns fits into the second-level cache while
// all rows of x use it. Each chunk rounds x again, so that few large chunks are the fastest.
constexpr Index kMostPanels = 24;

Index panels_of_chunk(Index panels) {
  return std::clamp<Index>(divided_up(panels, kernels::max_threads()), 1, kMostPanels);
}

}  // namespace

PackedMatrix::PackedMatrix(const Tensor& weight, const Tensor& bias, WeightFormat format)
    : rows_(weight.size(0)),
      columns_(weight.size(1)),
      panel_bytes_(kernels::panel_bytes(format, columns_)),
      format_(format),
      memory_(Tensor::empty({panels() * panel_bytes_ / 4}, DType::int32)) {
  const Tensor source = to_contiguous(weight.detach());
  const float* from = source.data<float>();
  auto* to = reinterpret_cast<char*>(memory_.data<std::int32_t>());
  kernels::parallel_for(
      panels(), kernels::row_grain(columns_ * kPanelRows), [&](Index begin, Index end) {
        for (Index panel = begin; panel < end; ++panel) {
          const Index row = panel * kPanelRows;
          kernels::pack_panel(format_, from + row * columns_, std::min(kPanelRows, rows_ - row),
                              columns_, to + panel * panel_bytes_);
        }
      });
  if (bias.defined()) {
    bias_ = Tensor::zeros({panels() * kPanelRows});
    std::copy_n(to_contiguous(bias.detach()).data<float>(), rows_, bias_.data<float>());
  }
}

void PackedMatrix::multiply(Index begin, Index end, Index batch, const StepVectors& x,
                            const StepVectors& y) const {
  const Index row = begin * kPanelRows;
  const auto* memory = reinterpret_cast<const char*>(memory_.data<std::int32_t>());
  kernels::multiply_panels(format_, {.panels = memory + begin * panel_bytes_,
                                     .count = end - begin,
                                     .panel_bytes = panel_bytes_,
                                     .columns = columns_,
                                     .x = x.start,
                                     .x_stride = x.stride,
                                     .y = y.start + row,
                                     .y_stride = y.stride,
                                     .batch = batch});
  if (bias_.defined()) {
    const float* bias = bias_.data<float>() + row;
    for (Index b = 0; b < batch; ++b) {
      kernels::loops<float>().add(bias, y.of(b) + row, y.of(b) + row, (end - begin) * kPanelRows);
    }
  }
}

Tensor PackedMatrix::product(const Tensor& x) const {
  Tensor rows = to_contiguous(x);                                     // [N, columns]
  Tensor padded = Tensor::empty({x.size(0), panels() * kPanelRows});  // [N, rows]
  const StepVectors from{rows.data<float>(), columns_};
  const StepVectors to{padded.data<float>(), padded.size(1)};
  kernels::parallel_for(panels(), panels_of_chunk(panels()),
                        [&](Index begin, Index end) { multiply(begin, end, x.size(0), from, to); });
  return to_contiguous(slice(padded, 1, 0, rows_));
}

Tensor PackedMatrix::unpacked(Index first, Index last) const {
  require(first % kPanelRows == 0 && first >= 0 && first <= last && last <= rows_,
          "[PackedMatrix] no rows ", first, " to ", last, " of ", rows_);
  Tensor weights = Tensor::empty({last - first, columns_});
  float* to = weights.data<float>();
  const auto* memory = reinterpret_cast<const char*>(memory_.data<std::int32_t>());
  kernels::parallel_for(kernels::panel_count(last - first),
                        kernels::row_grain(columns_ * kPanelRows), [&](Index begin, Index end) {
                          for (Index panel = begin; panel < end; ++panel) {
                            const Index row = panel * kPanelRows;
                            kernels::unpack_panel(
                                format_, memory + (first / kPanelRows + panel) * panel_bytes_,
                                std::min(kPanelRows, last - first - row), columns_,
                                to + row * columns_);
                          }
                        });
  return weights;
}

namespace {

// Weights to unpack at a time: enough for large products, few enough to stay in a cache.
constexpr Index kUnpackedElements = Index{1} << 18;

// Calls body(first, weights) for consecutive rows of the matrix, unpacked [rows, columns].
template <class Body>
void for_rows(const PackedMatrix& matrix, const Body& body) {
  const Index panels =
      std::max<Index>(1, kUnpackedElements / (kPanelRows * std::max<Index>(1, matrix.columns())));
  for (Index first = 0; first < matrix.rows(); first += panels * kPanelRows) {
    body(first, matrix.unpacked(first, std::min(matrix.rows(), first + panels * kPanelRows)));
  }
}

}  // namespace

Tensor packed_linear(const Tensor& x, const std::shared_ptr<const PackedMatrix>& matrix,
                     Precision precision) {
  require(matrix != nullptr && x.defined() && x.rank() >= 1 && x.size(-1) == matrix->columns() &&
              x.size(-1) > 0,
          "[packed_linear] expected an input with a last axis as wide as the matrix");
  require_type(x, DType::float32, "packed_linear", "input");
  const Index rows = x.numel() / x.size(-1);
  Shape shape = x.shape();
  shape[shape.rank() - 1] = matrix->rows();
  Tensor value = Tensor::empty(shape);
  const Matrix<float> to = matrix_of<float>(value);
  const Tensor whole = to_contiguous(x.detach());
  for_rows(*matrix, [&](Index first, const Tensor& weights) {
    auto product = product_of<float>(matrix_of<float>(whole), matrix_of<float>(weights),
                                     {to.data + first, rows, weights.size(0)},
                                     {Transposed::second, precision});
    product.c_stride = to.columns;
    product.bias = matrix->bias().defined() ? matrix->bias().data<float>() + first : nullptr;
    kernels::gemm(product);
  });
  return record("packed_linear", value, {x}, [matrix, precision](auto in, const Tensor& grad) {
    Tensor x_grad = Tensor::empty(in[0].shape());
    const Tensor grads = to_contiguous(grad);
    const Matrix<const float> from = matrix_of<float>(grads);
    for_rows(*matrix, [&](Index first, const Tensor& weights) {
      auto product = product_of<float>({from.data + first, from.rows, weights.size(0)},
                                       matrix_of<float>(weights), matrix_of<float>(x_grad),
                                       {Transposed::none, precision});
      product.a_stride = from.columns;
      product.beta = first == 0 ? 0.0F : 1.0F;
      kernels::gemm(product);
    });
    return std::vector<Tensor>{x_grad};
  });
}

}  // namespace headlight
