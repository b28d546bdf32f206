#include "support/test.h"

namespace attention_test {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
              const AttentionOptions& options = {}) {
  return scaled_dot_product_attention(query, key, value, options).output;
}

std::string message(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionOptions& options = {}) {
  return error_of([&] { attend(query, key, value, options); });
}

TEST_CASE("attention applies dropout to weights after recording them") {
  const Tensor zeros = Tensor::zeros({1, 2}, DType::float64);
  const Tensor key = Tensor::zeros({4, 2}, DType::float64);
  const Tensor value = doubles({1, 10, 100, 1000}, {4, 1});
  const RandomStream random{3, 4};
  const AttentionResult result =
      scaled_dot_product_attention(zeros, key, value, {.dropout = 0.5, .random = random});
  check_values(result.weights, {0.25, 0.25, 0.25, 0.25});
  check_close(result.output, matmul(dropout(result.weights, 0.5, random), value), 0);
}

TEST_CASE("attention with nothing to attend to gives zeros") {
  check_values(attend(Tensor::zeros({2, 3}), Tensor::zeros({0, 3}), Tensor::zeros({0, 1})), {0, 0});
  CHECK(attend(Tensor::zeros({0, 3}), Tensor::zeros({2, 3}), Tensor::zeros({2, 5})).shape() ==
        Shape{0, 5});
  check_values(attend(Tensor::zeros({1, 0}), Tensor::zeros({2, 0}), Tensor::ones({2, 1})), {1});
}

TEST_CASE("NaN in a query changes only its own output") {
  const Tensor query = doubles({kNaN, 0, 0, 0}, {2, 2});
  const Tensor key = noise({2, 2}, 1);
  check_values(attend(query, key, Tensor::ones({2, 1}, DType::float64)), {kNaN, 1}, 1e-15);
}

TEST_CASE("attention names the argument that it refuses") {
  const Tensor x = Tensor::zeros({3, 4});
  CHECK(mentions(message(x, Tensor::zeros({3, 5}), x),
                 {"[scaled_dot_product_attention]", "widths", "[3, 4]", "[3, 5]"}));
  CHECK(mentions(message(x, x, Tensor::zeros({2, 4})),
                 {"[scaled_dot_product_attention]", "lengths", "[3, 4]", "[2, 4]"}));
  CHECK(
      mentions(message(Tensor::zeros({4}), x, x), {"[scaled_dot_product_attention]", "two axes"}));
  CHECK(mentions(message(x, x, Tensor()), {"[scaled_dot_product_attention]"}));
  CHECK(mentions(message(x, x, Tensor::zeros({3, 4}, DType::float64)),
                 {"[scaled_dot_product_attention]", "float64"}));
  CHECK(mentions(message(x, x, x, {.mask = causal_mask(2)}), {"[2, 2]", "[3, 3]"}));
  CHECK(mentions(message(x, x, x, {.mask = Tensor::zeros({3, 3})}), {"mask", "bool"}));
  CHECK(mentions(message(x, x, x, {.dropout = 1.5}), {"1.5"}));
}

TEST_CASE("ragged attention names the argument that it refuses") {
  const Tensor qkv = Tensor::zeros({4, 12});
  const auto ragged = [&](const Tensor& x, const RaggedAttentionOptions& options) {
    return error_of([&] { ragged_attention(x, options); });
  };
  CHECK(mentions(ragged(Tensor::zeros({4}), {.offsets = {0, 4}}),
                 {"[ragged_attention]", "(H + 2 G) D"}));
  CHECK(mentions(ragged(Tensor(), {.offsets = {0}}), {"[ragged_attention]"}));
  CHECK(mentions(ragged(qkv, {.heads = 5, .offsets = {0, 4}}), {"[ragged_attention]", "12", "5"}));
  CHECK(mentions(ragged(qkv, {.heads = 0, .offsets = {0, 4}}), {"[ragged_attention]", "0 heads"}));
  CHECK(mentions(ragged(qkv, {.heads = -1, .offsets = {0, 4}}), {"[ragged_attention]"}));
  for (const std::vector<Index>& offsets :
       {std::vector<Index>{}, {0}, {0, 3}, {0, 5}, {1, 4}, {4}}) {
    CHECK(mentions(ragged(qkv, {.heads = 2, .offsets = offsets}),
                   {"[ragged_attention]", "offsets", "0 to 4"}));
  }
  CHECK(mentions(ragged(qkv, {.heads = 2, .offsets = {0, 3, 2, 4}}),
                 {"[ragged_attention]", "decrease"}));
  CHECK(mentions(ragged(qkv, {.heads = 2, .offsets = {0, 9, 4}}),
                 {"[ragged_attention]", "decrease"}));
  CHECK(mentions(ragged(qkv, {.heads = 2, .offsets = {0, 4}, .dropout = 1}),
                 {"[ragged_attention]", "dropout", "got 1"}));
  CHECK(mentions(ragged(Tensor::zeros({4, 12}, DType::int32), {.heads = 2, .offsets = {0, 4}}),
                 {"[ragged_attention]", "int32"}));
}

TEST_CASE("cached attention names the argument that it refuses") {
  const Tensor query = Tensor::zeros({2, 4});
  const Tensor room = Tensor::zeros({2, 5, 2});
  const auto cached = [](const Tensor& x, const Tensor& keys, const Tensor& values) {
    return error_of([&] { cached_attention(x, keys, values); });
  };
  REQUIRE(cached(query, room, room) == "no error");
  CHECK(mentions(cached(Tensor::zeros({2, 6}), room, room),
                 {"[cached_attention]", "3 heads cannot share 2 key heads"}));
  CHECK(mentions(cached(Tensor::zeros({4}), room, room), {"[cached_attention]", "[T, H D]"}));
  const Tensor one = slice(room, 1, 0, 1);
  CHECK(mentions(cached(query, one, one), {"[cached_attention]", "got 1", "[2, 4]"}));
  CHECK(mentions(cached(query, room, Tensor::zeros({2, 4, 2})),
                 {"[cached_attention]", "one layout", "[2, 4, 2]"}));
  CHECK(mentions(cached(query, Tensor::zeros({5, 2}), room),
                 {"[cached_attention]", "[G, S, D]", "[5, 2]"}));
  CHECK(mentions(cached(query, room, Tensor()), {"[cached_attention]"}));
  CHECK(mentions(cached(query, transpose(room), room), {"[cached_attention]"}));
  CHECK(mentions(cached(query, transpose(Tensor::zeros({2, 2, 5})), room),
                 {"[cached_attention]", "contiguous rows"}));
  CHECK(mentions(cached(query, Tensor::zeros({2, 5, 2}, DType::float64), room),
                 {"[cached_attention]", "float64"}));
}

TEST_CASE("attention refuses a bias of another shape or type") {
  const Tensor x = Tensor::zeros({3, 2}, DType::float64);
  CHECK(mentions(message(x, x, x, {.bias = Tensor::zeros({2, 3}, DType::float64)}),
                 {"[scaled_dot_product_attention]", "[2, 3]", "[3, 3]"}));
  CHECK(mentions(message(x, x, x, {.bias = Tensor::zeros({3, 3})}), {"float32", "float64"}));
  CHECK(mentions(message(x, x, x, {.bias = Tensor::zeros({2, 3, 3}, DType::float64)}),
                 {"bias [2, 3, 3]"}));
}
}  // namespace attention_test
