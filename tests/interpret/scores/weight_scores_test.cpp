#include "headlight/interpret/scores/weight_scores.h"
#include "headlight/interpret/scores/token_circuits.h"
#include "interpret/head_experiments_support.h"
#include "interpret/planted_models.h"
#include "kernels/eigenvalues.h"
#include "support/test.h"

namespace weight_scores_test {
// Scores from the weight matrices, compared with hand-made circuits and plain loops.

// One layer with two heads of width 2 over a stream of width 4; tokens are unit vectors.
std::unique_ptr<Gpt> copying_model(const std::vector<double>& first,
                                   const std::vector<double>& second) {
  auto model = Gpt::blank({.vocab_size = 4,
                           .block_size = 4,
                           .n_layer = 1,
                           .n_head = 2,
                           .n_embd = 4,
                           .tie_weights = false},
                          DType::float64);
  std::vector<double> identity(16);
  std::vector<double> qkv(48);
  for (std::size_t i = 0; i < 4; ++i) {
    identity[i * 5] = 1;
    qkv[(8 + i) * 4 + i] = 1;  // head h reads elements 2 h and 2 h + 1
  }
  set_parameter(*model, "wte.weight", identity);
  set_parameter(*model, "lm_head.weight", identity);
  set_parameter(*model, "h.0.attn.c_attn.weight", qkv);
  std::vector<double> output(16);
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t column = 0; column < 2; ++column) {
      output[row * 4 + column] = first[row * 2 + column];
      output[(2 + row) * 4 + 2 + column] = second[row * 2 + column];
    }
  }
  set_parameter(*model, "h.0.attn.c_proj.weight", output);
  return model;
}

using Matrix = std::vector<std::vector<double>>;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b[0].size(); ++j) {
        c[i][j] += a[i][k] * b[k][j];
      }
    }
  }
  return c;
}

double frobenius(const Matrix& a) {
  double sum = 0;
  for (const auto& row : a) {
    for (const double x : row) {
      sum += x * x;
    }
  }
  return std::sqrt(sum);
}

// W_Q, W_K or W_V of a head, as [C, D].
Matrix projection(const Gpt& model, HeadId head, Index part) {
  const Index width = model.block(head.layer).attention().plan().head_width;
  const Index inner = model.block(head.layer).attention().plan().inner_width();
  const Tensor weight = parameter_of(model, concat_text("h.", head.layer, ".attn.c_attn.weight"));
  const std::vector<double> values = weight.to_vector();
  Matrix result(static_cast<std::size_t>(weight.size(1)));
  for (std::size_t c = 0; c < result.size(); ++c) {
    for (Index d = 0; d < width; ++d) {
      const Index row = part * inner + head.head * width + d;
      result[c].push_back(values[static_cast<std::size_t>(row) * result.size() + c]);
    }
  }
  return result;
}

// W_O of a head, [D, C].
Matrix output_matrix(const Gpt& model, HeadId head) {
  const Index width = model.block(head.layer).attention().plan().head_width;
  const Tensor weight = parameter_of(model, concat_text("h.", head.layer, ".attn.c_proj.weight"));
  const std::vector<double> values = weight.to_vector();
  Matrix result(static_cast<std::size_t>(width));
  for (Index d = 0; d < width; ++d) {
    for (Index c = 0; c < weight.size(0); ++c) {
      result[static_cast<std::size_t>(d)].push_back(
          values[static_cast<std::size_t>(c * weight.size(1) + head.head * width + d)]);
    }
  }
  return result;
}

Matrix transposed(const Matrix& a) {
  Matrix result(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[0].size(); ++j) {
      result[j][i] = a[i][j];
    }
  }
  return result;
}

TEST_CASE("eigenvalues of real matrices are correct also for complex pairs", "[kernels]") {
  auto values = kernels::eigenvalues({2, 1, 0, 3}, 2);
  std::sort(values.begin(), values.end(),
            [](const auto& a, const auto& b) { return a.real() < b.real(); });
  CHECK(values[0].real() == Approx(2));
  CHECK(values[1].real() == Approx(3));
  const auto turned = kernels::eigenvalues({0, -2, 2, 0}, 2);
  CHECK(turned[0].real() == Approx(0).margin(1e-12));
  CHECK(std::abs(turned[0].imag()) == Approx(2));
  check_error(
      [] {
        kernels::eigenvalues({1, 2, std::nan(""), 4}, 2);
      },
      {"eigenvalues", "expected numbers"});
  check_error([] { kernels::eigenvalues({1, 2, 3}, 2); }, {"eigenvalues", "3"});
}

TEST_CASE(
    "the copying score is 1 for a head that copies its tokens and -1 for one that suppresses them",
    "[heads]") {
  const WeightScores opposite = weight_scores(*copying_model({1, 0, 0, 1}, {-3, 0, 0, -1}));
  CHECK(opposite.copying[0] == Approx(1));
  CHECK(opposite.copying[1] == Approx(-1));
  // A rotation has eigenvalues i and -i; 3 and -1 give (3 - 1) / (3 + 1).
  const WeightScores between = weight_scores(*copying_model({0, -1, 1, 0}, {3, 0, 0, -1}));
  CHECK(between.copying[0] == Approx(0).margin(1e-12));
  CHECK(between.copying[1] == Approx(0.5));
}

TEST_CASE("K-composition is the norm of the product over the product of the norms", "[heads]") {
  const auto model = random_gpt(three_layers());
  const WeightScores scores = weight_scores(*model);
  const std::size_t count = scores.heads.size();
  REQUIRE(count == 9);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      INFO(head_name(scores.heads[i]) << " to " << head_name(scores.heads[j]));
      const Matrix written = product(projection(*model, scores.heads[i], 2),
                                     output_matrix(*model, scores.heads[i]));  // [C, C]
      const Matrix read = product(projection(*model, scores.heads[j], 1),
                                  transposed(projection(*model, scores.heads[j], 0)));
      const double expected =
          scores.heads[i].layer < scores.heads[j].layer
              ? frobenius(product(written, read)) / (frobenius(written) * frobenius(read))
              : 0;
      CHECK(scores.k_composition[i * count + j] == Approx(expected));
    }
  }
}

TEST_CASE("Q- and V-composition multiply with the query and the value matrix", "[heads]") {
  const auto model = random_gpt(three_layers());
  const HeadSet heads = HeadSet::all(model->heads());
  const auto queries = composition_scores(*model, Composition::q);
  const auto values = composition_scores(*model, Composition::v);
  const auto keys = composition_scores(*model, Composition::k);
  CHECK(keys == weight_scores(*model).k_composition);
  for (const auto& pair : {std::pair<std::size_t, std::size_t>{1, 5}, {4, 8}, {0, 3}}) {
    const std::size_t i = pair.first;
    const std::size_t j = pair.second;
    const auto ov = [&](std::size_t head) {
      return product(projection(*model, heads[head], 2), output_matrix(*model, heads[head]));
    };
    const auto expected = [&](const Matrix& read) {
      return frobenius(product(ov(i), read)) / (frobenius(ov(i)) * frobenius(read));
    };
    const Matrix qk =
        product(projection(*model, heads[j], 0), transposed(projection(*model, heads[j], 1)));
    CHECK(queries[i * 9 + j] == Approx(expected(qk)));
    CHECK(values[i * 9 + j] == Approx(expected(ov(j))));
    CHECK(queries[j * 9 + i] == 0);
  }
}

TEST_CASE("circuits of a head from tokens to tokens are products of its matrices", "[heads]") {
  GptConfig config = three_layers();
  config.tie_weights = false;
  config.embedding_scale = 3;
  config.logit_scale = 0.5;
  const auto model = random_gpt(config);
  const HeadId head{1, 2};
  const auto matrix_of = [&](const std::string& name) {
    const Tensor weight = parameter_of(*model, name);
    const std::vector<double> values = weight.to_vector();
    Matrix result;
    for (Index row = 0; row < weight.size(0); ++row) {
      const auto begin = values.begin() + row * weight.size(1);
      result.emplace_back(begin, begin + weight.size(1));
    }
    return result;
  };
  const Matrix embedding = matrix_of("wte.weight");
  const Matrix ov =
      product(product(embedding, product(projection(*model, head, 2), output_matrix(*model, head))),
              transposed(matrix_of("lm_head.weight")));
  const Matrix qk = product(product(embedding, product(projection(*model, head, 0),
                                                       transposed(projection(*model, head, 1)))),
                            transposed(embedding));
  const Tensor some = ov_circuit(*model, head, {4, 7}, {2, 3, 10});
  REQUIRE(some.shape() == Shape{2, 3});
  CHECK(some.to_vector()[5] == Approx(3 * 0.5 * ov[7][10]));
  const Tensor all = ov_circuit(*model, head, {}, {});
  REQUIRE(all.shape() == Shape{11, 11});
  CHECK(all.to_vector()[7 * 11 + 10] == Approx(3 * 0.5 * ov[7][10]));
  CHECK(qk_circuit(*model, head, {4, 7}, {2}).to_vector()[1] == Approx(9 * qk[7][2]));
  check_error([&] { ov_circuit(*model, head, {11}, {}); }, {"tokens_in", "11"});
  check_error([&] { qk_circuit(*model, head, {}, {-1}); }, {"tokens_out", "-1"});
  check_error([&] { ov_circuit(*model, {1, 3}, {}, {}); }, {"1.3"});
}

TEST_CASE("heads that share keys and values have their circuits", "[heads]") {
  GptConfig config = three_layers();
  config.n_head = 4;
  config.n_kv_head = 2;
  const auto model = random_gpt(config);
  const Tensor qkv = parameter_of(*model, "h.0.attn.c_attn.weight");  // 4 + 2 + 2 heads of 3 rows
  const Tensor embedding = parameter_of(*model, "wte.weight").detach();
  const Tensor query = matmul(embedding, transpose(slice(qkv.detach(), 0, 9, 12)));
  const Tensor key = matmul(embedding, transpose(slice(qkv.detach(), 0, 15, 18)));
  check_close(qk_circuit(*model, {0, 3}, {}, {}), matmul(query, transpose(key)), 1e-12);
}

TEST_CASE("an induction head composes with the previous-token head", "[heads]") {
  const PlantedModel planted;
  const WeightScores scores = weight_scores(planted.model());
  const std::size_t count = scores.heads.size();
  for (std::size_t earlier = 1; earlier < 4; ++earlier) {
    CHECK(scores.k_composition[earlier * count + 4] < scores.k_composition[4]);
  }
  CHECK(scores.k_composition[4] > 0.05);
}
}  // namespace weight_scores_test
