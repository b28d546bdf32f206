#include "support/test.h"

namespace embedding_dropout_test {
Tensor table() { return doubles({1, 2, 10, 20, 100, 200}, {3, 2}); }

TEST_CASE("embedding looks up the rows of its weight") {
  check_values(embedding(table(), ints({2, 0, 2}, {3})), {100, 200, 1, 2, 100, 200});
  CHECK(embedding(table(), ints({0, 1, 2, 0}, {2, 2})).shape() == Shape{2, 2, 2});
  check_values(embedding(table(), ints({1}, {})), {10, 20});
  CHECK(embedding(table(), ints({}, {0})).shape() == Shape{0, 2});
  check_values(embedding(table(), transpose(ints({0, 1, 2, 0}, {2, 2}))),
               {1, 2, 100, 200, 10, 20, 1, 2});
  check_values(embedding(transpose(doubles({1, 2, 3, 4}, {2, 2})), ints({1}, {1})), {2, 4});
  CHECK(embedding(convert(table(), DType::float32), ints({1}, {1})).dtype() == DType::float32);
}

TEST_CASE("a row of embedding collects the gradients of all its uses") {
  const Tensor weight = leaf(table());
  backward(embedding(weight, ints({2, 0, 2}, {3})),
           {.gradient = doubles({1, 2, 3, 4, 5, 6}, {3, 2})});
  check_values(weight.grad(), {3, 4, 0, 0, 6, 8});
}

TEST_CASE("the padding row of embedding is looked up but receives no gradient") {
  const Tensor weight = leaf(table());
  const Tensor y = embedding(weight, ints({2, 0, 2}, {3}), 2);
  check_values(y, {100, 200, 1, 2, 100, 200});
  backward(y, {.gradient = doubles({1, 2, 3, 4, 5, 6}, {3, 2})});
  check_values(weight.grad(), {3, 4, 0, 0, 0, 0});
}

TEST_CASE("embedding refuses ids outside its vocabulary, naming id and position") {
  const auto message = [](std::initializer_list<std::int32_t> ids) {
    return error_of([&] { embedding(table(), ints(ids, {static_cast<Index>(ids.size())})); });
  };
  CHECK(mentions(message({0, 3}), {"[embedding]", "0 to 2", "got 3", "position 1"}));
  CHECK(mentions(message({-1}), {"[embedding]", "got -1", "position 0"}));
  CHECK(mentions(message({2147483647}), {"[embedding]", "got 2147483647"}));
}

TEST_CASE("embedding names the argument that it refuses") {
  const Tensor ids = ints({0}, {1});
  CHECK(
      mentions(error_of([&] { embedding(Tensor::zeros({3}), ids); }), {"[embedding]", "two axes"}));
  CHECK(mentions(error_of([&] { embedding(Tensor(), ids); }), {"[embedding]"}));
  CHECK(mentions(error_of([] { embedding(table(), Tensor::zeros({1})); }),
                 {"[embedding]", "ids", "int32", "float32"}));
  CHECK(mentions(error_of([] { embedding(table(), Tensor()); }), {"[embedding]", "undefined"}));
  CHECK(mentions(error_of([&] { embedding(table(), ids, 3); }),
                 {"[embedding]", "padding index", "got 3"}));
  CHECK(mentions(error_of([&] { embedding(table(), ids, -1); }), {"[embedding]", "got -1"}));
  CHECK(mentions(error_of([&] { embedding(ints({1}, {1, 1}), ids); }), {"[embedding]", "int32"}));
}

TEST_CASE("dropout keeps elements by the numbers of its stream and scales them") {
  const RandomStream random{5, 6};
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = Tensor::full({3, 7}, 2, dtype);
    const std::vector<double> y = dropout(x, 0.25, random).to_vector();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double expected = random.uniform(i) >= 0.25 ? 2 / 0.75 : 0;
      CHECK(y[i] == Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("the elements that dropout keeps do not depend on strides or on chunks") {
  const RandomStream random{5, 6};
  const Tensor x = noise({70, 600}, 1);
  const Tensor straight = dropout(x, 0.5, random);
  CHECK(same_bits(dropout(transpose(transpose(x).clone()), 0.5, random), straight));
  const std::vector<double> y = straight.to_vector();
  const std::vector<double> from = x.to_vector();
  bool same = true;
  for (std::size_t i = 0; i < y.size(); ++i) {
    same = same && y[i] == (random.uniform(i) >= 0.5 ? 2 * from[i] : 0.0);
  }
  CHECK(same);
}

TEST_CASE("dropout keeps the mean and drops the given share") {
  const Tensor y = dropout(Tensor::ones({100000}), 0.1, {1, 2});
  double total = 0;
  double dropped = 0;
  for (const double value : y.to_vector()) {
    total += value;
    dropped += value == 0 ? 1 : 0;
  }
  CHECK(dropped == Approx(10000).margin(4 * std::sqrt(100000 * 0.1 * 0.9)));
  CHECK(total == Approx(100000).margin(500));
}

TEST_CASE("the gradient of dropout passes where the element did") {
  const Tensor x = leaf(noise({40}, 1));
  const Tensor y = dropout(x, 0.5, {7, 8});
  backward(y, {.gradient = Tensor::ones({40}, DType::float64)});
  const std::vector<double> values = y.to_vector();
  const std::vector<double> slopes = x.grad().to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(slopes[i] == (values[i] == 0 ? 0 : 2));
  }
}

TEST_CASE("dropout with probability 0 is the input itself") {
  const Tensor x = noise({3}, 1);
  CHECK(dropout(x, 0, {}).data<double>() == x.data<double>());
}

TEST_CASE("dropout differs between random streams and accepts an empty input") {
  const Tensor x = Tensor::ones({64});
  CHECK_FALSE(same_bits(dropout(x, 0.5, {1, 1}), dropout(x, 0.5, {1, 2})));
  CHECK_FALSE(same_bits(dropout(x, 0.5, {1, 1}), dropout(x, 0.5, {2, 1})));
  CHECK(dropout(Tensor::zeros({0, 2}), 0.5, {}).shape() == Shape{0, 2});
}

TEST_CASE("dropout refuses probabilities outside 0 to below 1 and invalid inputs") {
  const Tensor x = Tensor::ones({2});
  CHECK(mentions(error_of([&] { dropout(x, 1, {}); }), {"[dropout]", "got 1"}));
  CHECK(mentions(error_of([&] { dropout(x, -0.1, {}); }), {"[dropout]", "got -0.1"}));
  CHECK(mentions(error_of([&] { dropout(x, std::nan(""), {}); }), {"[dropout]", "nan"}));
  CHECK(mentions(error_of([] { dropout(Tensor(), 0.5, {}); }), {"[dropout]", "undefined"}));
  CHECK(mentions(error_of([] { dropout(ints({1}, {1}), 0.5, {}); }), {"[dropout]", "int32"}));
}

TEST_CASE("dropout of float64 scales with the probability in float64") {
  const Tensor y = dropout(Tensor::ones({1}, DType::float64), 0.1, {3, 4});
  REQUIRE(RandomStream{3, 4}.uniform(0) > 0.1);
  CHECK(y.item() == Approx(1 / 0.9).epsilon(1e-15));
}
}  // namespace embedding_dropout_test
