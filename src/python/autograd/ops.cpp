#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <type_traits>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/activation.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/compare.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/dropout.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/indexing.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/normalization.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"
#include "python/autograd/operand.h"
#include "python/bindings.h"
#include "python/model/inputs.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

using OptionalOperand = std::optional<Operand>;

Tensor tensor_or_none(const OptionalOperand& operand) {
  return operand ? operand->tensor() : Tensor();
}

// Argument of a Python function for a parameter of an op.
template <class T>
struct Parameter {
  using Type = std::remove_cvref_t<T>;
  static const Type& value(const Type& argument, const Tensor&) { return argument; }
};
template <>
struct Parameter<const Tensor&> {
  using Type = Operand;
  static Tensor value(const Operand& argument, const Tensor& beside) {
    return argument.tensor(beside);
  }
};

// Defines a function that calls an op whose first parameter is a tensor. Numbers take its type.
template <class Result, class... Rest, class... Extra>
void define(nb::module_& ops, const char* name, Result (*op)(const Tensor&, Rest...),
            const Extra&... extra) {
  ops.def(
      name,
      [op](const Operand& x, const typename Parameter<Rest>::Type&... rest) {
        const Tensor first = x.tensor();
        const auto converted = std::tuple(first, Parameter<Rest>::value(rest, first)...);
        const nb::gil_scoped_release released;
        return std::apply(op, converted);
      },
      extra...);
}

template <class Op>
struct NamedOp {
  const char* name;
  Op op;
  const char* doc;
};

constexpr NamedOp<Tensor (*)(const Tensor&)> kUnaryOps[] = {
    {"relu", relu, "max(x, 0)."},
    {"gelu", [](const Tensor& x) { return gelu(x); }, "GELU in the form of GPT-2 (tanh)."},
    {"silu", silu, "x sigmoid(x)."},
    {"sigmoid", sigmoid, "1 / (1 + exp(-x))."},
    {"tanh", tanh, "Hyperbolic tangent."},
    {"exp", exp, "Exponential."},
    {"log", log, "Natural logarithm."},
    {"sqrt", sqrt, "Square root."},
    {"neg", neg, "-x."},
    {"logical_not", logical_not, "Negation of bool."},
};

constexpr NamedOp<Tensor (*)(const Tensor&, const Tensor&)> kBinaryOps[] = {
    {"add", add, "a + b; shapes broadcast."},
    {"sub", sub, "a - b; shapes broadcast."},
    {"mul", mul, "a b; shapes broadcast."},
    {"div", div, "a / b; shapes broadcast."},
    {"matmul", matmul, "[..., M, K] times [..., K, N] gives [..., M, N]."},
    {"equal", equal, "a == b, bool."},
    {"not_equal", not_equal, "a != b, bool."},
    {"less", less, "a < b, bool."},
    {"less_equal", less_equal, "a <= b, bool."},
    {"greater", greater, "a > b, bool."},
    {"greater_equal", greater_equal, "a >= b, bool."},
    {"logical_and", logical_and, "Both, of bool."},
    {"logical_or", logical_or, "Either, of bool."},
};

constexpr NamedOp<Tensor (*)(const Tensor&, const ReduceOptions&)> kReduceOps[] = {
    {"sum", sum, "Sum over axes; None: all."},
    {"mean", mean, "Mean over axes; None: all."},
    {"max", max, "Largest element over axes; None: all."},
};

void add_tables(nb::module_& ops) {
  for (const auto& entry : kUnaryOps) {
    define(ops, entry.name, entry.op, "x"_a, entry.doc);
  }
  for (const auto& entry : kBinaryOps) {
    define(ops, entry.name, entry.op, "a"_a, "b"_a, entry.doc);
  }
  for (const auto& entry : kReduceOps) {
    ops.def(
        entry.name,
        [op = entry.op](const Operand& x, const std::optional<std::vector<Index>>& axes,
                        bool keepdim) {
          return op(x.tensor(), {axes.value_or(std::vector<Index>{}), keepdim});
        },
        "x"_a, "axes"_a = nb::none(), "keepdim"_a = false, entry.doc);
  }
}

std::vector<Tensor> tensors_of(const std::vector<Operand>& parts) {
  std::vector<Tensor> tensors;
  for (const Operand& part : parts) {
    tensors.push_back(part.tensor());
  }
  return tensors;
}

Shape shape_of(const std::vector<Index>& sizes) { return Shape(std::span<const Index>(sizes)); }

void add_plain(nb::module_& ops) {
  define(ops, "softmax", softmax, "x"_a, "axis"_a = -1, "Probabilities along an axis.");
  define(ops, "log_softmax", log_softmax, "x"_a, "axis"_a = -1, "Logarithms of softmax().");
  define(ops, "clamp", clamp, "x"_a, "low"_a, "high"_a, "x, limited to a range.");
  define(ops, "transpose", transpose, "x"_a, "axis_a"_a = -2, "axis_b"_a = -1,
         "Exchanges two axes.");
  define(ops, "permute", permute, "x"_a, "order"_a, "The axes in another order.");
  define(ops, "gather", gather, "x"_a, "axis"_a, "indices"_a,
         "Elements at int32 indices along an axis.");
  define(ops, "masked_fill", masked_fill, "x"_a, "mask"_a, "value"_a,
         "`value` where the mask is true, else x.");
  define(ops, "embedding", embedding, "weight"_a, "ids"_a, "padding_index"_a = nb::none(),
         "Rows of weight [V, C] for int32 ids [...].");
}

void add_layout(nb::module_& ops) {
  ops.def(
      "reshape",
      [](const Operand& x, const std::vector<Index>& shape) {
        return reshape(x.tensor(), shape_of(shape));
      },
      "x"_a, "shape"_a, "The elements in another shape; -1: the size that fits.");
  ops.def(
      "concat",
      [](const std::vector<Operand>& parts, Index axis) { return concat(tensors_of(parts), axis); },
      "parts"_a, "axis"_a = 0, "Joins tensors along an axis.");
  ops.def(
      "stack",
      [](const std::vector<Operand>& parts, Index axis) { return stack(tensors_of(parts), axis); },
      "parts"_a, "axis"_a = 0, "Joins tensors along a new axis.");
  ops.def(
      "where",
      [](const Operand& condition, const Operand& a, const Operand& b) {
        const Tensor left = a.tensor();
        return where(condition.tensor(), left, b.tensor(left));
      },
      "condition"_a, "a"_a, "b"_a, "a where the condition holds, else b.");
  ops.def(
      "causal_mask", [](Index length) { return causal_mask(length); }, "length"_a,
      "[T, T] bool, true where a query must not see a key.");
  ops.def(
      "argmax",
      [](const Operand& x, std::optional<Index> axis) { return argmax(x.tensor(), axis); }, "x"_a,
      "axis"_a = nb::none(), "Index of the largest element, int32.");
  ops.def(
      "topk",
      [](const Operand& x, Index k, Index axis) {
        const TopK result = topk(x.tensor(), k, axis);
        return std::pair(result.values, result.indices);
      },
      "x"_a, "k"_a, "axis"_a = -1, "The k largest elements and their indices.");
}

void add_products(nb::module_& ops) {
  ops.def(
      "einsum",
      [](const std::string& equation, const Operand& a, const OptionalOperand& b) {
        const Tensor left = a.tensor();
        const Tensor right = tensor_or_none(b);
        const nb::gil_scoped_release released;
        return right.defined() ? einsum(equation, left, right) : einsum(equation, left);
      },
      "equation"_a, "a"_a, "b"_a = nb::none(), "Einstein summation of one or two operands.");
  ops.def(
      "linear",
      [](const Operand& x, const Operand& weight, const OptionalOperand& bias) {
        return linear(x.tensor(), weight.tensor(), tensor_or_none(bias));
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(),
      "x [..., I] times weight [O, I] transposed, plus bias [O].");
  ops.def(
      "layer_norm",
      [](const Operand& x, const OptionalOperand& gain, const OptionalOperand& shift,
         double epsilon) {
        return layer_norm(x.tensor(), tensor_or_none(gain), tensor_or_none(shift), epsilon);
      },
      "x"_a, "gain"_a = nb::none(), "shift"_a = nb::none(), "epsilon"_a = 1e-5,
      "Norm by mean and variance of the last axis.");
  ops.def(
      "rms_norm",
      [](const Operand& x, const OptionalOperand& gain, double epsilon) {
        return rms_norm(x.tensor(), tensor_or_none(gain), epsilon);
      },
      "x"_a, "gain"_a = nb::none(), "epsilon"_a = 1e-5,
      "Norm by the root mean square of the last axis.");
}

void add_losses(nb::module_& ops) {
  ops.def(
      "dropout",
      [](const Operand& x, double probability, std::uint64_t seed) {
        return dropout(x.tensor(), probability, {.seed = seed});
      },
      "x"_a, "probability"_a, "seed"_a,
      "Sets elements to 0 with this probability and divides the others by 1 - probability.");
  ops.def(
      "cross_entropy",
      [](const Operand& logits, const Operand& targets, Index ignore_index,
         double label_smoothing) {
        return cross_entropy(logits.tensor(), targets.tensor(),
                             {.ignore_index = ignore_index, .label_smoothing = label_smoothing});
      },
      "logits"_a, "targets"_a, nb::kw_only(), "ignore_index"_a = -1, "label_smoothing"_a = 0.0,
      "Mean of -log softmax(logits)[target] in nats: logits [N, V], int32 targets [N].");
  ops.def(
      "attention",
      [](const Operand& query, const Operand& key, const Operand& value,
         const OptionalOperand& mask, bool causal) {
        AttentionResult result =
            scaled_dot_product_attention(query.tensor(), key.tensor(), value.tensor(),
                                         {.mask = tensor_or_none(mask), .causal = causal});
        return std::pair(std::move(result.output), std::move(result.weights));
      },
      "query"_a, "key"_a, "value"_a, nb::kw_only(), "mask"_a = nb::none(), "causal"_a = false,
      "softmax(query key^T / sqrt(D)) value and the weights: query [..., T, D], key [..., S, "
      "D], value [..., S, Dv], mask bool (true: hidden).");
}

// Disables the recording of ops inside a with statement.
struct NoGradScope {
  std::unique_ptr<NoGrad> held;
};

}  // namespace

void add_ops(nb::module_& module) {
  nb::module_ ops = module.def_submodule("ops", "Differentiable functions of tensors and arrays.");
  add_tables(ops);
  add_plain(ops);
  add_layout(ops);
  add_products(ops);
  add_losses(ops);
  add_custom_op(ops);
  nb::class_<NoGradScope>(module, "no_grad", "Records no gradients inside a with statement.")
      .def(nb::init<>())
      .def("__enter__", [](NoGradScope& scope) { scope.held = std::make_unique<NoGrad>(); })
      .def(
          "__exit__", [](NoGradScope& scope, const nb::args&) { scope.held.reset(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
}

}  // namespace headlight::python
