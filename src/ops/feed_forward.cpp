#include <memory>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/fused_layers.h"
#include "kernels/column_sums.h"
#include "kernels/loops.h"
#include "ops/common.h"
#include "ops/layer_norm_rows.h"
#include "ops/matrix.h"

namespace headlight {
namespace {

// Rows that go through the wide middle together: enough for large products, few enough for the
// middle's temporaries to stay small.
constexpr Index kRowBlock = 1024;

void check_feed_forward(const Tensor& x, const FeedForwardParameters& p) {
  require(x.defined() && x.rank() >= 1 && x.size(-1) > 0,
          "[feed_forward] expected an input with a last axis that is not empty");
  for (const Tensor& weight : {p.up_weight, p.down_weight}) {
    require(weight.defined() && weight.rank() == 2, "[feed_forward] expected weights of two axes");
    require_same_type(x, weight, "feed_forward");
  }
  require(p.up_weight.size(1) == x.size(-1), "[feed_forward] input ", x.shape(),
          " does not fit up_weight ", p.up_weight.shape());
  require_shape(p.down_weight, {x.size(-1), p.up_weight.size(0)}, "feed_forward", "down_weight");
  if (p.up_bias.defined()) {
    require_same_type(x, p.up_bias, "feed_forward");
    require_shape(p.up_bias, {p.up_weight.size(0)}, "feed_forward", "up_bias");
  }
  if (p.down_bias.defined()) {
    require_same_type(x, p.down_bias, "feed_forward");
    require_shape(p.down_bias, {x.size(-1)}, "feed_forward", "down_bias");
  }
}

// A matrix and its bias, contiguous and without gradient.
struct Layer {
  Layer(const Tensor& weight_given, const Tensor& bias_given)
      : weight(to_contiguous(weight_given.detach())),
        bias(bias_given.defined() ? to_contiguous(bias_given.detach()) : bias_given) {}

  Tensor weight;
  Tensor bias;  // may be undefined
};

struct FeedForwardGradients {
  LayerNormGradients norm;
  Tensor up_weight;
  Tensor up_bias;
  Tensor down_weight;
  Tensor down_bias;
};

// Forward and backward of one call; keeps what backward needs: the input, its statistics and the
// middle before gelu.
class FeedForward {
 public:
  FeedForward(const Tensor& x, const FeedForwardParameters& p)
      : in_(layer_norm_inputs(x, p.norm.gain, p.norm.shift)),
        epsilon_(p.norm.epsilon),
        statistics_(empty_statistics(in_)),
        up_(p.up_weight, p.up_bias),
        down_(p.down_weight, p.down_bias),
        precision_(p.precision) {}

  template <class T>
  Tensor forward() {
    const Index inner = up_.weight.size(0);
    read_again_ = {{"feed_forward", "input", in_.x},
                   {"feed_forward", "gain", in_.gain},
                   {"feed_forward", "shift", in_.shift},
                   {"feed_forward", "up_weight", up_.weight},
                   {"feed_forward", "down_weight", down_.weight}};
    middle_ = Tensor::empty({in_.rows(), inner}, in_.x.dtype());
    Tensor value = Tensor::empty(in_.x.shape(), in_.x.dtype());
    for (Index first = 0; first < in_.rows(); first += kRowBlock) {
      const Index last = std::min(in_.rows(), first + kRowBlock);
      const Tensor rows = normalized(first, last);
      Tensor activated = Tensor::empty({last - first, inner}, in_.x.dtype());
      const Matrix<T> middle = matrix_of<T>(middle_).row_range(first, last);
      auto up = product_of<T>(matrix_of<T>(rows), matrix_of<T>(std::as_const(up_.weight)), middle,
                              {Transposed::second, precision_});
      up.bias = up_.bias.defined() ? up_.bias.data<T>() : nullptr;
      T* to = activated.data<T>();
      up.after = [=](const kernels::GemmRegion& region) {
        for (Index row = region.row; row < region.row + region.rows; ++row) {
          const Index place = row * inner + region.column;
          kernels::loops<T>().gelu(middle.data + place, to + place, region.columns);
        }
      };
      kernels::gemm(up);
      auto down = product_of<T>(
          matrix_of<T>(std::as_const(activated)), matrix_of<T>(std::as_const(down_.weight)),
          matrix_of<T>(value).row_range(first, last), {Transposed::second, precision_});
      down.bias = down_.bias.defined() ? down_.bias.data<T>() : nullptr;
      kernels::gemm(down);
    }
    return value;
  }

  template <class T>
  FeedForwardGradients backward(const Tensor& grad) {
    for (const SavedTensor& saved : read_again_) {
      saved.get();
    }
    FeedForwardGradients result = empty_gradients();
    Tensor rows_grad = Tensor::empty(in_.x.shape(), in_.x.dtype());
    for (Index first = 0; first < in_.rows(); first += kRowBlock) {
      const Index last = std::min(in_.rows(), first + kRowBlock);
      backward_rows<T>(matrix_of<T>(grad).row_range(first, last), first,
                       matrix_of<T>(rows_grad).row_range(first, last), result);
    }
    kernels::column_sums(grad.data<T>(), in_.rows(), in_.width(), result.down_bias.data<T>());
    result.norm = layer_norm_gradients(in_, rows_grad, statistics_);
    return result;
  }

 private:
  Tensor normalized(Index first, Index last) {
    Tensor rows = Tensor::empty({last - first, in_.width()}, in_.x.dtype());
    normalize_rows(in_, epsilon_, first, last, rows, statistics_);
    return rows;
  }

  FeedForwardGradients empty_gradients() const {
    const DType dtype = in_.x.dtype();
    const auto make = in_.rows() > 0 ? Tensor::empty : Tensor::zeros;
    return {.norm = {},
            .up_weight = make(up_.weight.shape(), dtype),
            .up_bias = Tensor::zeros({up_.weight.size(0)}, dtype),
            .down_weight = make(down_.weight.shape(), dtype),
            .down_bias = Tensor::empty({in_.width()}, dtype)};
  }

  // One block of rows, from the gradient of its output [R, C] to that of its normalised input
  // [R, C]; the weights' gradients grow by its part.
  template <class T>
  void backward_rows(const Matrix<const T>& grad, Index first, const Matrix<T>& rows_grad,
                     FeedForwardGradients& result) {
    const Index inner = up_.weight.size(0);
    const T beta = first == 0 ? T{0} : T{1};
    Tensor activated = Tensor::empty({grad.rows, inner}, in_.x.dtype());
    Tensor middle_grad = Tensor::empty({grad.rows, inner}, in_.x.dtype());
    differentiate_middle<T>(grad, first, matrix_of<T>(activated), matrix_of<T>(middle_grad));
    const auto add_product = [&](const Matrix<const T>& a, const Tensor& b, Tensor& sum) {
      auto product =
          product_of<T>(a, matrix_of<T>(b), matrix_of<T>(sum), {Transposed::first, precision_});
      product.beta = beta;
      kernels::gemm(product);
    };
    add_product(grad, activated, result.down_weight);
    add_product(matrix_of<T>(middle_grad), normalized(first, first + grad.rows), result.up_weight);
    Tensor sums = Tensor::empty({inner}, in_.x.dtype());
    kernels::column_sums(middle_grad.data<T>(), grad.rows, inner, sums.data<T>());
    kernels::loops<T>().add(result.up_bias.data<T>(), sums.data<T>(), result.up_bias.data<T>(),
                            inner);
    kernels::gemm(product_of<T>(matrix_of<T>(middle_grad), matrix_of<T>(std::as_const(up_.weight)),
                                rows_grad, {Transposed::none, precision_}));
  }

  // activated [R, I] = gelu(middle), middle_grad [R, I] = (grad down) * gelu'(middle)
  template <class T>
  void differentiate_middle(const Matrix<const T>& grad, Index first, const Matrix<T>& activated,
                            const Matrix<T>& middle_grad) const {
    const Matrix<const T> middle = matrix_of<T>(middle_).row_range(first, first + grad.rows);
    auto product = product_of<T>(grad, matrix_of<T>(down_.weight), middle_grad,
                                 {Transposed::none, precision_});
    product.after = [=](const kernels::GemmRegion& region) {
      for (Index row = region.row; row < region.row + region.rows; ++row) {
        const Index place = row * middle.columns + region.column;
        kernels::loops<T>().gelu_with_backward(middle.data + place, middle_grad.data + place,
                                               activated.data + place, region.columns);
      }
    };
    kernels::gemm(product);
  }

  LayerNormInputs in_;
  double epsilon_;
  RowStatistics statistics_;
  Layer up_;
  Layer down_;
  Precision precision_;
  std::vector<SavedTensor> read_again_;  // by backward, of what others hold
  Tensor middle_;                        // [N, I]
};

}  // namespace

Tensor feed_forward(const Tensor& x, const FeedForwardParameters& p) {
  check_feed_forward(x, p);
  const auto pass = std::make_shared<FeedForward>(x, p);
  const Tensor value = dispatch_floating(
      x.dtype(), "feed_forward", [&](auto zero) { return pass->forward<decltype(zero)>(); });
  const std::vector<Tensor> inputs{x,         p.norm.gain,   p.norm.shift, p.up_weight,
                                   p.up_bias, p.down_weight, p.down_bias};
  return record("feed_forward", value, inputs, [pass](auto, const Tensor& grad) {
    const FeedForwardGradients g = dispatch_floating(grad.dtype(), "feed_forward", [&](auto zero) {
      return pass->backward<decltype(zero)>(to_contiguous(grad));
    });
    return std::vector<Tensor>{g.norm.x,  g.norm.gain,   g.norm.shift, g.up_weight,
                               g.up_bias, g.down_weight, g.down_bias};
  });
}

}  // namespace headlight
