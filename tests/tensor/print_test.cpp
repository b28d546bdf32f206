#include "support/test.h"

namespace print_test {
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Printed {
  Tensor tensor;
  std::string text;  // as PyTorch 2.13 prints the tensor
  PrintOptions options = {};
};

// clang-format off
std::vector<Printed> printed_by_pytorch() {
  return {
      {floats({1, 0, 2, 2, 2, 2}, {2, 3}), R"(tensor([[1., 0., 2.],
        [2., 2., 2.]]))"},
      {floats({-0.5F, 10, 0.25F}, {3}), R"(tensor([-0.5000, 10.0000,  0.2500]))"},
      {floats({0.13613F, 0.43194F, 0.00089045F, 0.90884F}, {2, 2}),
       R"(tensor([[1.3613e-01, 4.3194e-01],
        [8.9045e-04, 9.0884e-01]]))"},
      {floats({0.13613F, 0.43194F, 0.00089045F, 0.90884F}, {2, 2}), R"(tensor([[0.1361, 0.4319],
        [0.0009, 0.9088]]))", {.scientific = false}},
      {floats({0.5F, 2}, {2}), R"(tensor([5.00e-01, 2.00e+00]))",
       {.precision = 2, .scientific = true}},
      {floats({2e8F, 1}, {2}), R"(tensor([2.0000e+08, 1.0000e+00]))"},
      {floats({0.00005F}, {1}), R"(tensor([5.0000e-05]))"},
      {floats({2, -kInfinity, 4, 8}, {2, 2}), R"(tensor([[2., -inf],
        [4., 8.]]))"},
      {floats({0.5F, kInfinity, kNaN, -1}, {4}),
       R"(tensor([ 0.5000,     inf,     nan, -1.0000]))"},
      {floats({kNaN, kNaN}, {2}), R"(tensor([nan, nan]))"},
      {floats({-0.0F, 0}, {2}), R"(tensor([-0., 0.]))"},
      {floats({1.7320508F}, {}), R"(tensor(1.7321))"},
      {bools({false, true}, {2}), R"(tensor([False,  True]))"},
      {bools({true, true}, {1, 2}), R"(tensor([[True, True]]))"},
      {ints({1, -20, 300}, {3}), R"(tensor([  1, -20, 300], dtype=torch.int32))"},
      {ints({7}, {}), R"(tensor(7, dtype=torch.int32))"},
      {doubles({0.1, 1}, {2}), R"(tensor([0.1000, 1.0000], dtype=torch.float64))"},
      {convert(floats({0.1F, 1}, {2}), DType::bfloat16),
       R"(tensor([0.1001, 1.0000], dtype=torch.bfloat16))"},
      {Tensor::zeros({0}), R"(tensor([]))"},
      {Tensor::zeros({2, 0}), R"(tensor([], size=(2, 0)))"},
      {Tensor::zeros({0}, DType::boolean), R"(tensor([], dtype=torch.bool))"},
      {Tensor::zeros({3, 0}, DType::int32), R"(tensor([], size=(3, 0), dtype=torch.int32))"},
      {Tensor::arange(30),
       R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29], dtype=torch.int32))"},
      {Tensor::arange(1001, DType::float32),
       R"(tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.]))"},
      {reshape(Tensor::arange(24, DType::float32), {2, 2, 2, 3}), R"(tensor([[[[ 0.,  1.,  2.],
          [ 3.,  4.,  5.]],

         [[ 6.,  7.,  8.],
          [ 9., 10., 11.]]],


        [[[12., 13., 14.],
          [15., 16., 17.]],

         [[18., 19., 20.],
          [21., 22., 23.]]]]))"},
      {reshape(Tensor::arange(64, DType::float32), {8, 8}),
       R"(tensor([[ 0.,  1.,  ...,  6.,  7.],
        [ 8.,  9.,  ..., 14., 15.],
        ...,
        [48., 49.,  ..., 54., 55.],
        [56., 57.,  ..., 62., 63.]]))", {.threshold = 10, .edge_items = 2}},
      {reshape(Tensor::arange(6, DType::float32), {2, 3}), R"(tensor([...], size=(2, 3)))",
       {.threshold = 5, .edge_items = 0}},
      {Tensor::arange(12, DType::float32) / 8.0, R"(tensor([0.000, 0.125, 0.250, 0.375,
        0.500, 0.625, 0.750, 0.875,
        1.000, 1.125, 1.250, 1.375]))", {.precision = 3, .line_width = 40}},
      {transpose(reshape(Tensor::arange(6, DType::float32), {2, 3})), R"(tensor([[0., 3.],
        [1., 4.],
        [2., 5.]]))"},
      {leaf(floats({1, 2}, {2})), R"(tensor([1., 2.], requires_grad=True))"},
      {leaf(floats({1, 2}, {2})) * 2.0, R"(tensor([2., 4.], grad_fn=<MulBackward0>))"},
      {masked_fill(leaf(floats({1, 2}, {2})), bools({true, false}, {2}), 3),
       R"(tensor([3., 2.], grad_fn=<MaskedFillBackward0>))"},
      {exp(leaf(Tensor::zeros({9}))) + 0.125,
       R"(tensor([1.1250, 1.1250, 1.1250, 1.1250, 1.1250, 1.1250, 1.1250, 1.1250, 1.1250],
       grad_fn=<AddBackward0>))"},
      {leaf(Tensor::zeros({0, 2}, DType::float64)),
       R"(tensor([], size=(0, 2), dtype=torch.float64, requires_grad=True))"}};
}
// clang-format on

TEST_CASE("tensors are printed as PyTorch prints them") {
  for (const Printed& row : printed_by_pytorch()) {
    CHECK(tensor_text(row.tensor, row.options) == row.text);
  }
}

TEST_CASE("operator<< prints a tensor with PyTorch's options") {
  std::ostringstream out;
  out << "x = " << Tensor::eye(2) << "\n";
  CHECK(out.str() == "x = tensor([[1., 0.],\n        [0., 1.]])\n");
}

TEST_CASE("a tensor that is printed behind a name is aligned to its first line") {
  CHECK("Q = " + tensor_text(Tensor::eye(2), {.indent = 4}) ==
        "Q = tensor([[1., 0.],\n            [0., 1.]])");
  const Tensor x = leaf(Tensor::zeros({3}));
  CHECK(tensor_text(x, {.line_width = 42}) == "tensor([0., 0., 0.], requires_grad=True)");
  CHECK(tensor_text(x, {.line_width = 42, .indent = 2}) ==
        "tensor([0., 0., 0.],\n         requires_grad=True)");
}

TEST_CASE("an undefined tensor and the longest numbers can be printed") {
  CHECK(tensor_text(Tensor()) == "tensor(undefined)");
  const std::string longest =
      tensor_text(doubles({1.5, -1e308}, {2}), {.precision = 100, .scientific = false});
  CHECK(longest.size() > 2 * 400);
}

TEST_CASE("only the edges of a large tensor are read") {
  const Tensor wide = expand(floats({1}, {1, 1, 1}), {Index{1} << 20, Index{1} << 20, 5});
  CHECK(tensor_text(wide).size() < 2000);
}

TEST_CASE("printing names options that are out of range") {
  const Tensor x = Tensor::zeros({2});
  check_error([&] { tensor_text(x, {.precision = -1}); }, {"precision", "got -1"});
  check_error([&] { tensor_text(x, {.precision = 101}); }, {"precision", "got 101"});
  check_error([&] { tensor_text(x, {.edge_items = -3}); }, {"options", "got -3"});
}

TEST_CASE("grad_op names the op that computed a tensor") {
  const Tensor x = leaf(floats({1}, {1}));
  CHECK(x.grad_op().empty());
  CHECK(Tensor().grad_op().empty());
  CHECK((x * x).grad_op() == "mul");
  CHECK((x * x).detach().grad_op().empty());
  const NoGrad no_grad;
  CHECK((x * x).grad_op().empty());
}
}  // namespace print_test
