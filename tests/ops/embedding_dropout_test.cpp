#include "support/test.h"

namespace embedding_dropout_test {
Tensor table() { return doubles({1, 2, 10, 20, 100, 200}, {3, 2}); }

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
  check_error([&] { embedding(Tensor::zeros({3}), ids); }, {"[embedding]", "two axes"});
  check_error([&] { embedding(Tensor(), ids); }, {"[embedding]"});
  check_error([] { embedding(table(), Tensor::zeros({1})); },
              {"[embedding]", "ids", "int32", "float32"});
  check_error([] { embedding(table(), Tensor()); }, {"[embedding]", "undefined"});
  check_error([&] { embedding(table(), ids, 3); }, {"[embedding]", "padding index", "got 3"});
  check_error([&] { embedding(table(), ids, -1); }, {"[embedding]", "got -1"});
  check_error([&] { embedding(ints({1}, {1, 1}), ids); }, {"[embedding]", "int32"});
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
  check_error([&] { dropout(x, 1, {}); }, {"[dropout]", "got 1"});
  check_error([&] { dropout(x, -0.1, {}); }, {"[dropout]", "got -0.1"});
  check_error([&] { dropout(x, std::nan(""), {}); }, {"[dropout]", "nan"});
  check_error([] { dropout(Tensor(), 0.5, {}); }, {"[dropout]", "undefined"});
  check_error([] { dropout(ints({1}, {1}), 0.5, {}); }, {"[dropout]", "int32"});
}
}  // namespace embedding_dropout_test
