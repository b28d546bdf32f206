#include "support/test.h"

// Ops whose backward adds to the sum of an input's gradients, instead of returning a tensor.

// factor * x[place], a scalar; its gradient is 0 everywhere else.
Tensor pick(const Tensor& x, Index place, double factor = 1) {
  const double value = factor * x.data<double>()[place];
  return record_adding("pick", Tensor::scalar(value, DType::float64), {x},
                       [place, factor](auto, const Tensor& grad, const GradientSum& sum_of) {
                         sum_of(0).data<double>()[place] += factor * grad.item();
                       });
}

Tensor three() { return leaf(doubles({2, 3, 5}, {3})); }

TEST_CASE("an op that adds its gradient in place changes only the elements it names") {
  const Tensor x = three();
  const Tensor value = pick(x, 1, 4);
  CHECK(value.item() == 12);
  backward(value);
  check_values(x.grad(), {0, 4, 0});
}

TEST_CASE("several ops that add to one tensor share one sum") {
  const Tensor x = three();
  backward(pick(x, 0, 4) + pick(x, 2, 7) + pick(x, 2, 1));
  check_values(x.grad(), {4, 0, 8});
}

TEST_CASE("a tensor collects from ops that add and from others, in either order") {
  const Tensor weights = doubles({10, 20, 30}, {3});
  const Tensor first = three();
  const Tensor early = pick(first, 1, 4);
  backward(sum(first * weights) + early);  // backward meets the ordinary op first
  check_values(first.grad(), {10, 24, 30});
  const Tensor last = three();
  const Tensor late = sum(last * weights);
  backward(pick(last, 1, 4) + late);  // and here the one that adds
  check_values(last.grad(), {10, 24, 30});
}

TEST_CASE("adding to a sum leaves a gradient that another tensor holds unchanged") {
  // add hands the same gradient to both of its inputs.
  const Tensor x = three();
  const Tensor y = three();
  const Tensor picked = pick(x, 0, 4);
  backward(sum(x + y) + picked);
  check_values(x.grad(), {5, 1, 1});
  check_values(y.grad(), {1, 1, 1});
}

TEST_CASE("an op that adds works on a tensor in the middle of a graph") {
  const Tensor x = three();
  Tensor doubled = 2.0 * x;
  doubled.retain_grad();
  backward(pick(doubled, 1, 3) + pick(doubled, 0, 1));
  check_values(doubled.grad(), {1, 3, 0});
  check_values(x.grad(), {2, 6, 0});
}

TEST_CASE("sums are added to a leaf's gradient over backward passes") {
  Tensor x = three();
  backward(pick(x, 0, 4));
  const Tensor handed_out = x.grad();
  backward(pick(x, 0, 1) + pick(x, 1, 2));
  check_values(x.grad(), {5, 2, 0});
  check_values(handed_out, {4, 0, 0});
  x.zero_grad();
  backward(pick(x, 2, 9));
  check_values(x.grad(), {0, 0, 9});
}

TEST_CASE("a retained graph of an op that adds can be walked again, a freed one cannot") {
  const Tensor x = three();
  const Tensor value = pick(x, 1, 4);
  backward(value, {.retain_graph = true});
  backward(value);
  check_values(x.grad(), {0, 8, 0});
  check_error([&] { backward(value); }, {"[backward]", "retain_graph"});
}

TEST_CASE("an op that adds gets a contiguous gradient sum of zeros that no other tensor shares") {
  const Tensor x = leaf(noise({4, 6}, 1));
  bool contiguous_zeros = false;
  const Tensor value = record_adding("look", Tensor::scalar(1, DType::float64), {x},
                                     [&](auto, const Tensor&, const GradientSum& sum_of) {
                                       const Tensor& sum = sum_of(0);
                                       const std::vector<double> values = sum.to_vector();
                                       contiguous_zeros =
                                           sum.is_contiguous() && sum.shape() == Shape{4, 6} &&
                                           values == std::vector<double>(values.size(), 0);
                                     });
  backward(value);
  CHECK(contiguous_zeros);
  check_values(x.grad(), std::vector<double>(24, 0));
}

TEST_CASE("nothing is recorded for an op that adds when no gradient is wanted") {
  const Tensor constant = doubles({2, 3, 5}, {3});
  CHECK_FALSE(pick(constant, 0).requires_grad());
  const NoGrad no_grad;
  CHECK_FALSE(pick(three(), 0).requires_grad());
}
