#include "formats/token_rows.h"
#include "support/test.h"

TEST_CASE("rows that no training has formed are found") {
  Tensor rows = random_normal({40, 16}, {3, 0}, 0.2, 1);
  const auto set = [&](Index row, const Tensor& value) {
    slice(rows, 0, row, row + 1).copy_from(value);
  };
  set(5, Tensor::zeros({1, 16}));
  set(6, Tensor::full({1, 16}, 7));
  set(9, slice(rows, 0, 8, 9));
  fill_new_rows(rows, 38, {4, 0});
  CHECK(untrained_rows(rows, {1, 5, 6, 8, 9, 20, 38, 39}) == Ids{5, 6, 8, 9, 38, 39});
  CHECK(untrained_rows(rows, {1, 9, 20}).empty());
  CHECK(untrained_rows(rows, {}).empty());
}

TEST_CASE("new rows are the mean of the others and a tenth of their deviation") {
  Tensor rows = random_normal({2000, 4}, {3, 0}, 3, 2);
  fill_new_rows(rows, 1000, {4, 0});
  const std::vector<double> values = rows.to_vector();
  double mean = 0;
  double squares = 0;
  for (std::size_t i = 4000; i < 8000; ++i) {
    mean += values[i] / 4000;
    squares += (values[i] - 3) * (values[i] - 3) / 4000;
  }
  CHECK(mean == Approx(3).margin(0.1));
  CHECK(std::sqrt(squares) == Approx(0.2).epsilon(0.3));
}

TEST_CASE("a resized model keeps its rows, and an untied head is a copy of the embedding") {
  const GptConfig config{.vocab_size = 12, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8};
  const Gpt model(config, 3);
  const auto larger = resized(model, {.tokens = 14, .tied = false});
  for (const Tensor& matrix : {larger->weight(Part::token_embedding), larger->weight(Part::head)}) {
    CHECK(same_bits(slice(matrix, 0, 0, 12), model.weight(Part::token_embedding)));
    CHECK(slice(matrix, 0, 12, 14).to_vector() == std::vector<double>(16, 0));
  }
  CHECK(same_bits(larger->weight(Part::mlp_in, 0), model.weight(Part::mlp_in, 0)));
}
