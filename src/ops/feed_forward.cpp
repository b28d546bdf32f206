#include <memory>
#include <optional>
#include <string>

#include "headlight/ops/fused_layers.h"
#include "kernels/column_sums.h"
#include "kernels/layers/activations.h"
#include "ops/common.h"
#include "ops/matrix.h"
#include "ops/norm_rows.h"

namespace headlight {
namespace {

// Rows per block: enough for large products, few enough for small temporaries of width I.
constexpr Index kRowBlock = 1024;

// Throws Error unless the weight has the given shape, and the bias, if defined, [shape[0]].
void check_layer(const Tensor& x, const Tensor& weight, const Tensor& bias, const Shape& shape,
                 const std::string& name) {
  require_same_type(x, weight, "feed_forward");
  require_shape(weight, shape, "feed_forward", name + "_weight");
  if (bias.defined()) {
    require_same_type(x, bias, "feed_forward");
    require_shape(bias, {shape[0]}, "feed_forward", name + "_bias");
  }
}

void check_feed_forward(const Tensor& x, const FeedForwardParameters& p) {
  require(x.defined() && x.rank() >= 1 && x.size(-1) > 0,
          "[feed_forward] expected an input with a last axis that is not empty");
  for (const Tensor& weight : {p.up_weight, p.down_weight}) {
    require(weight.defined() && weight.rank() == 2, "[feed_forward] expected weights of two axes");
  }
  require(p.up_weight.size(1) == x.size(-1), "[feed_forward] input ", x.shape(),
          " does not match up_weight ", p.up_weight.shape());
  const Index inner = p.up_weight.size(0);
  check_layer(x, p.up_weight, p.up_bias, {inner, x.size(-1)}, "up");
  check_layer(x, p.down_weight, p.down_bias, {x.size(-1), inner}, "down");
  if (p.gate_weight.defined()) {
    check_layer(x, p.gate_weight, p.gate_bias, {inner, x.size(-1)}, "gate");
  } else {
    require(!p.gate_bias.defined(), "[feed_forward] gate_bias: needs a gate_weight");
  }
}

// A weight and its bias, contiguous and without gradient.
struct Layer {
  // `role` ("up_weight") is for messages.
  Layer(const char* role, const Tensor& weight_given, const Tensor& bias_given)
      : weight("feed_forward", role, to_contiguous(weight_given.detach())),
        bias(bias_given.defined() ? to_contiguous(bias_given.detach()) : bias_given) {}

  SavedTensor weight;
  Tensor bias;  // may be undefined
};

// What backward gets of the inner layers' outputs.
enum class KeptValues {
  none,     // no gradient is recorded
  exact,    // in the type of the input
  rounded,  // in bfloat16
};

// A linear layer from the normalised rows to the inner width I, and its output. An MLP with a gate
// has two branches.
struct FeedForwardBranch {
  Layer layer;
  Tensor kept = {};  // [N, I], as KeptValues says
};

struct LayerGradients {
  Tensor weight;
  Tensor bias;
};

// The weights that require a gradient.
struct WantedWeights {
  bool up = true;
  bool down = true;
  bool gate = true;
};

struct FeedForwardGradients {
  NormGradients norm;
  LayerGradients activated;
  LayerGradients factor;  // undefined without a gate
  LayerGradients down;
};

// Forward and backward of one call. Keeps the values that backward needs: the input, its statistics
// and the inner layers' outputs before the activation. Those stay in bfloat16 if the products round
// their operands, too: the gradient of the activation then differs in the eighth bit.
class FeedForward {
 public:
  FeedForward(const Tensor& x, const FeedForwardParameters& p, KeptValues kept)
      : in_(norm_inputs("feed_forward", x, p.norm)),
        statistics_(empty_statistics(in_)),
        activated_{p.gate_weight.defined() ? Layer("gate_weight", p.gate_weight, p.gate_bias)
                                           : Layer("up_weight", p.up_weight, p.up_bias)},
        down_("down_weight", p.down_weight, p.down_bias),
        activation_(p.activation),
        precision_(p.precision),
        kept_(kept) {
    if (p.gate_weight.defined()) {
      factor_ = FeedForwardBranch{Layer("up_weight", p.up_weight, p.up_bias)};
    }
  }

  bool has_gate() const { return factor_.has_value(); }

  template <class T>
  Tensor forward() {
    activated_.kept = empty_values();
    if (factor_) {
      factor_->kept = empty_values();
    }
    Tensor value = Tensor::empty(in_.x.shape(), in_.x.dtype());
    for (Index first = 0; first < in_.rows(); first += kRowBlock) {
      const Index last = std::min(in_.rows(), first + kRowBlock);
      const Tensor middle = forward_middle<T>(first, last);
      kernels::gemm(product_into<T>(value, down_, middle, first));
    }
    return value;
  }

  // Computes the gradients of norm and biases, and of the wanted weights.
  template <class T>
  FeedForwardGradients backward(const Tensor& grad, const WantedWeights& wanted) {
    FeedForwardGradients result = empty_gradients(wanted);
    Tensor rows_grad = Tensor::empty(in_.x.shape(), in_.x.dtype());
    for (Index first = 0; first < in_.rows(); first += kRowBlock) {
      const Index last = std::min(in_.rows(), first + kRowBlock);
      backward_rows<T>(matrix_of<T>(grad).row_range(first, last), first,
                       matrix_of<T>(rows_grad).row_range(first, last), result);
    }
    if (down_.bias.defined()) {
      kernels::column_sums(grad.data<T>(), in_.rows(), in_.width(), result.down.bias.data<T>());
    }
    result.norm = norm_gradients(in_, rows_grad, statistics_);
    return result;
  }

 private:
  Index inner() const { return activated_.layer.weight.shape()[0]; }

  // Returns a tensor [N, I] for the outputs of a branch that backward gets; undefined if it gets
  // none.
  Tensor empty_values() const {
    const DType dtype = kept_ == KeptValues::rounded ? DType::bfloat16 : in_.x.dtype();
    return kept_ == KeptValues::none ? Tensor() : Tensor::empty({in_.rows(), inner()}, dtype);
  }

  // Returns rows [first, last) of a branch's output: the kept ones if they are exact, else a tensor
  // for a copy of them.
  Tensor rows_of(const FeedForwardBranch& branch, Index first, Index last) const {
    const Shape shape{last - first, inner()};
    return kept_ == KeptValues::exact
               ? branch.kept.strided_view(shape, {inner(), 1}, first * inner())
               : Tensor::empty(shape, in_.x.dtype());
  }

  // Rounds elements of rows_of() for backward, if it gets rounded ones, or reads them back.
  // `offset`: of the first element in the branch's output.
  template <class T>
  void keep(const FeedForwardBranch& branch, Index offset, const T* from, Index count) const {
    if (kept_ == KeptValues::rounded) {
      Tensor kept = branch.kept;
      kernels::loops<T>().to_bfloat16(from, &kept.data<BFloat16>()[offset].bits, count);
    }
  }
  template <class T>
  void read_back(const FeedForwardBranch& branch, Index offset, T* to, Index count) const {
    if (kept_ == KeptValues::rounded) {
      kernels::loops<T>().from_bfloat16(&branch.kept.data<BFloat16>()[offset].bits, to, count);
    }
  }

  // Returns the product of rows and a layer, for rows `first` and following of `to`.
  template <class T>
  kernels::Gemm<T> product_into(Tensor& to, const Layer& layer, const Tensor& rows,
                                Index first) const {
    auto product = product_of<T>(matrix_of<T>(rows), matrix_of<T>(layer.weight.get()),
                                 matrix_of<T>(to).row_range(first, first + rows.size(0)),
                                 {Transposed::second, precision_});
    product.bias = layer.bias.defined() ? layer.bias.data<T>() : nullptr;
    return product;
  }

  // Returns the inner values [last - first, I] after the activation and the gate.
  template <class T>
  Tensor forward_middle(Index first, Index last) {
    const Tensor rows = normalized_rows(in_, first, last, statistics_);
    Tensor value = Tensor::empty({last - first, inner()}, in_.x.dtype());
    Tensor factors = factor_ ? rows_of(*factor_, first, last) : Tensor();
    const T* factor = factor_ ? factors.data<T>() : nullptr;
    if (factor_) {
      kernels::gemm(product_into<T>(factors, factor_->layer, rows, 0));
    }
    Tensor activated = rows_of(activated_, first, last);
    auto product = product_into<T>(activated, activated_.layer, rows, 0);
    const auto& loops = kernels::activation_loops<T>(activation_);
    const T* from = product.c;
    T* to = value.data<T>();
    product.after = [=, this, &loops, width = inner()](const kernels::GemmRegion& region) {
      for (Index row = region.row; row < region.row + region.rows; ++row) {
        const Index offset = row * width + region.column;
        keep(activated_, first * width + offset, from + offset, region.columns);
        if (factor == nullptr) {
          loops.value(from + offset, to + offset, region.columns);
        } else {
          keep(*factor_, first * width + offset, factor + offset, region.columns);
          loops.gated(from + offset, factor + offset, to + offset, region.columns);
        }
      }
    };
    kernels::gemm(product);
    return value;
  }

  FeedForwardGradients empty_gradients(const WantedWeights& wanted) const {
    const DType dtype = in_.x.dtype();
    const auto weight_gradient = [&](const Layer& layer, bool is_wanted) {
      const auto make = in_.rows() > 0 ? Tensor::empty : Tensor::zeros;
      return is_wanted ? make(layer.weight.shape(), dtype) : Tensor();
    };
    const auto into_middle = [&](const Layer& layer, bool is_wanted) {
      return LayerGradients{weight_gradient(layer, is_wanted),
                            layer.bias.defined() ? Tensor::zeros({inner()}, dtype) : Tensor()};
    };
    return {.norm = {},
            .activated = into_middle(activated_.layer, factor_ ? wanted.gate : wanted.up),
            .factor = factor_ ? into_middle(factor_->layer, wanted.up) : LayerGradients{},
            .down = {weight_gradient(down_, wanted.down),
                     down_.bias.defined() ? Tensor::empty({in_.width()}, dtype) : Tensor()}};
  }

  // sum += a^T b for one block of rows; the first block overwrites `sum`. Does nothing without
  // `sum`.
  template <class T>
  void add_weight_gradient(const Matrix<const T>& a, const Tensor& b, Index first,
                           Tensor& sum) const {
    if (!sum.defined()) {
      return;
    }
    auto product =
        product_of<T>(a, matrix_of<T>(b), matrix_of<T>(sum), {Transposed::first, precision_});
    product.beta = first == 0 ? T{0} : T{1};
    kernels::gemm(product);
  }

  // Computes one block of rows: turns the gradient of the output [R, C] into that of the normalised
  // input [R, C], and adds to the gradients of the weights.
  template <class T>
  void backward_rows(const Matrix<const T>& grad, Index first, const Matrix<T>& rows_grad,
                     FeedForwardGradients& result) {
    const auto make = [&] { return Tensor::empty({grad.rows, inner()}, in_.x.dtype()); };
    Tensor value = make();
    Tensor activated_grad = make();
    Tensor factor_grad = factor_ ? make() : Tensor();
    differentiate_middle<T>(grad, first, value, activated_grad, factor_grad);
    add_weight_gradient(grad, value, first, result.down.weight);
    const Tensor rows = normalized_rows(in_, first, first + grad.rows, statistics_);
    backward_branch<T>(activated_, activated_grad, rows, first, rows_grad, result.activated);
    if (factor_) {
      backward_branch<T>(*factor_, factor_grad, rows, first, rows_grad, result.factor);
    }
  }

  // Computes one branch: adds to its layer's gradients and writes the gradient of the rows, to
  // which the second branch adds.
  template <class T>
  void backward_branch(const FeedForwardBranch& branch, const Tensor& grad, const Tensor& rows,
                       Index first, const Matrix<T>& rows_grad, LayerGradients& result) const {
    add_weight_gradient(matrix_of<T>(grad), rows, first, result.weight);
    if (branch.layer.bias.defined()) {
      Tensor sums = Tensor::empty({inner()}, in_.x.dtype());
      kernels::column_sums(grad.data<T>(), grad.size(0), inner(), sums.data<T>());
      kernels::loops<T>().add(result.bias.data<T>(), sums.data<T>(), result.bias.data<T>(),
                              inner());
    }
    auto product = product_of<T>(matrix_of<T>(grad), matrix_of<T>(branch.layer.weight.get()),
                                 rows_grad, {Transposed::none, precision_});
    product.beta = &branch == &activated_ ? T{0} : T{1};
    kernels::gemm(product);
  }

  // Recomputes the inner values, the input of the down projection, and computes the gradients of
  // the activation's input and, with a gate, of the up branch: all [R, I].
  template <class T>
  void differentiate_middle(const Matrix<const T>& grad, Index first, Tensor& value,
                            Tensor& activated_grad, Tensor& factor_grad) const {
    auto product = product_of<T>(grad, matrix_of<T>(down_.weight.get()),
                                 matrix_of<T>(activated_grad), {Transposed::none, precision_});
    const auto& loops = kernels::activation_loops<T>(activation_);
    Tensor activated = rows_of(activated_, first, first + grad.rows);
    Tensor factors = factor_ ? rows_of(*factor_, first, first + grad.rows) : Tensor();
    T* from = activated.data<T>();
    T* factor = factor_ ? factors.data<T>() : nullptr;
    T* to_value = value.data<T>();
    T* to_activated = activated_grad.data<T>();
    T* to_factor = factor_ ? factor_grad.data<T>() : nullptr;
    product.after = [=, this, &loops, width = inner()](const kernels::GemmRegion& region) {
      for (Index row = region.row; row < region.row + region.rows; ++row) {
        const Index offset = row * width + region.column;
        read_back(activated_, first * width + offset, from + offset, region.columns);
        if (factor == nullptr) {
          loops.with_backward(from + offset, to_activated + offset, to_value + offset,
                              region.columns);
        } else {
          read_back(*factor_, first * width + offset, factor + offset, region.columns);
          loops.gated_with_backward({from + offset, factor + offset, to_activated + offset,
                                     to_factor + offset, to_value + offset},
                                    region.columns);
        }
      }
    };
    kernels::gemm(product);
  }

  NormInputs in_;
  RowStatistics statistics_;
  FeedForwardBranch activated_;              // the gate's layer, or `up` if there is no gate
  std::optional<FeedForwardBranch> factor_;  // `up`, if there is a gate
  Layer down_;
  Activation activation_;
  Precision precision_;
  KeptValues kept_;
};

}  // namespace

Tensor feed_forward(const Tensor& x, const FeedForwardParameters& p) {
  check_feed_forward(x, p);
  const std::vector<Tensor> inputs{x,           p.norm.gain,   p.norm.shift,
                                   p.up_weight, p.up_bias,     p.down_weight,
                                   p.down_bias, p.gate_weight, p.gate_bias};
  const KeptValues kept = !wants_gradient(inputs)      ? KeptValues::none
                          : is_rounded(x, p.precision) ? KeptValues::rounded
                                                       : KeptValues::exact;
  const auto pass = std::make_shared<FeedForward>(x, p, kept);
  const Tensor value = dispatch_floating(
      x.dtype(), "feed_forward", [&](auto zero) { return pass->forward<decltype(zero)>(); });
  return record_shapes("feed_forward", value, inputs, [pass](auto in, const Tensor& grad) {
    const WantedWeights wanted{
        .up = in[3].requires_grad(), .down = in[5].requires_grad(), .gate = in[7].requires_grad()};
    const FeedForwardGradients g = dispatch_floating(grad.dtype(), "feed_forward", [&](auto zero) {
      return pass->backward<decltype(zero)>(to_contiguous(grad), wanted);
    });
    const LayerGradients& up = pass->has_gate() ? g.factor : g.activated;
    const LayerGradients gate = pass->has_gate() ? g.activated : LayerGradients{};
    return std::vector<Tensor>{g.norm.x,      g.norm.gain, g.norm.shift, up.weight, up.bias,
                               g.down.weight, g.down.bias, gate.weight,  gate.bias};
  });
}

}  // namespace headlight
