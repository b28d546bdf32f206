#include "support/test.h"

namespace indexing_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor two_by_three() { return doubles({1, 5, 5, 7, -1, 7}, {2, 3}); }

TEST_CASE("argmax gives the first largest element of an axis or of all") {
  const Tensor x = two_by_three();
  check_values(argmax(x, 1), {1, 0});
  check_values(argmax(x, 0), {1, 0, 1});
  check_values(argmax(transpose(x), -1), {1, 0, 1});
  CHECK(argmax(x).item() == 3);
  CHECK(argmax(x).dtype() == DType::int32);
  CHECK(argmax(x, 1, true).shape() == Shape{2, 1});
  CHECK(argmax(x, std::nullopt, true).shape() == Shape{1, 1});
  CHECK(argmax(Tensor::scalar(3)).item() == 0);
  check_values(argmax(doubles({1, kNaN, 9, kNaN}, {4}), 0), {1});
  check_values(argmax(ints({3, 9, 9}, {3}), 0), {1});
  check_values(argmax(bools({false, true}, {2}), 0), {1});
  CHECK(argmax(Tensor::zeros({0, 3}), 1).shape() == Shape{0});
}

TEST_CASE("argmax and topk and gather name what they refuse") {
  const Tensor x = two_by_three();
  const auto refuses = [](const auto& body, const std::vector<std::string>& parts) {
    CHECK(mentions(error_of(body), parts));
  };
  refuses([&] { argmax(x, 2); }, {"[argmax]", "axis 2"});
  refuses([] { argmax(Tensor::zeros({3, 0}), 1); }, {"[argmax]", "[3, 0]"});
  refuses([] { argmax(Tensor::zeros({0})); }, {"[argmax]", "nothing"});
  refuses([] { argmax(Tensor()); }, {"[argmax]", "undefined"});
  refuses([&] { topk(x, 4); }, {"[topk]", "0 to 3", "got 4"});
  refuses([&] { topk(x, -1); }, {"[topk]", "got -1"});
  refuses([] { topk(Tensor(), 1); }, {"[topk]", "undefined"});
  refuses([] { topk(Tensor::scalar(1), 1); }, {"[topk]", "axis -1"});
  refuses([&] { gather(x, 1, ints({3}, {1, 1})); }, {"[gather]", "index 3", "[2, 3]"});
  refuses([&] { gather(x, 1, ints({-1}, {1, 1})); }, {"[gather]", "index -1"});
  refuses([&] { gather(x, 1, ints({0}, {1})); }, {"[gather]", "[2, 3]", "[1]"});
  refuses([&] { gather(x, 1, Tensor::zeros({3, 1}, DType::int32)); }, {"[gather]", "axis 0"});
  refuses([&] { gather(x, 1, x); }, {"[gather]", "int32", "float64"});
}
}  // namespace indexing_test
