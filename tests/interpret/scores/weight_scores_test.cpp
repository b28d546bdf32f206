#include "headlight/interpret/scores/weight_scores.h"
#include "headlight/interpret/scores/token_circuits.h"
#include "interpret/head_experiments_support.h"
#include "interpret/planted_models.h"
#include "kernels/eigenvalues.h"
#include "support/test.h"

// Scores from the weight matrices, compared with hand-made circuits and whole products.

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

// W_Q, W_K or W_V of a head, as [C, D].
Tensor projection(const Gpt& model, HeadId head, Index part) {
  const AttentionPlan& plan = model.block(head.layer).attention().plan();
  const Index begin = part * plan.inner_width() + head.head * plan.head_width;
  return transpose(slice(model.weight(Part::query_key_value, head.layer).detach(), 0, begin,
                         begin + plan.head_width));
}

// W_V W_O of a head, [C, C].
Tensor ov_matrix(const Gpt& model, HeadId head) {
  const Index width = model.block(head.layer).attention().plan().head_width;
  const Tensor output = model.weight(Part::attention_output, head.layer).detach();
  return matmul(projection(model, head, 2),
                transpose(slice(output, 1, head.head * width, (head.head + 1) * width)));
}

// W_Q W_K^T of a head, [C, C].
Tensor qk_matrix(const Gpt& model, HeadId head) {
  return matmul(projection(model, head, 0), transpose(projection(model, head, 1)));
}

// Norm of the product over the product of the norms.
double composition(const Tensor& written, const Tensor& read) {
  return norm(matmul(written, read)) / (norm(written) * norm(read));
}

TEST_CASE("eigenvalues of real matrices are correct also for complex pairs") {
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
    "the copying score is 1 for a head that copies its tokens and -1 for one that suppresses "
    "them") {
  const WeightScores opposite = weight_scores(*copying_model({1, 0, 0, 1}, {-3, 0, 0, -1}));
  CHECK(opposite.copying[0] == Approx(1));
  CHECK(opposite.copying[1] == Approx(-1));
  // A rotation has eigenvalues i and -i; 3 and -1 give (3 - 1) / (3 + 1).
  const WeightScores between = weight_scores(*copying_model({0, -1, 1, 0}, {3, 0, 0, -1}));
  CHECK(between.copying[0] == Approx(0).margin(1e-12));
  CHECK(between.copying[1] == Approx(0.5));
}

TEST_CASE("composition is the norm of the product over the product of the norms") {
  const auto model = random_gpt(three_layers());
  const HeadSet heads = HeadSet::all(model->heads());
  const auto queries = composition_scores(*model, Composition::q);
  const auto values = composition_scores(*model, Composition::v);
  const auto keys = composition_scores(*model, Composition::k);
  CHECK(keys == weight_scores(*model).k_composition);
  REQUIRE(heads.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j) {
      INFO(head_name(heads[i]) << " to " << head_name(heads[j]));
      const double later = heads[i].layer < heads[j].layer ? 1 : 0;
      const Tensor written = ov_matrix(*model, heads[i]);
      const Tensor read = qk_matrix(*model, heads[j]);
      CHECK(keys[i * 9 + j] == Approx(later * composition(written, transpose(read))));
      CHECK(queries[i * 9 + j] == Approx(later * composition(written, read)));
      CHECK(values[i * 9 + j] == Approx(later * composition(written, ov_matrix(*model, heads[j]))));
    }
  }
}

TEST_CASE("circuits of a head from tokens to tokens are products of its matrices") {
  GptConfig config = three_layers();
  config.tie_weights = false;
  config.embedding_scale = 3;
  config.logit_scale = 0.5;
  const auto model = random_gpt(config);
  const HeadId head{1, 2};
  const Tensor embedding = model->weight(Part::token_embedding).detach();
  const Tensor ov =
      matmul(matmul(embedding, ov_matrix(*model, head)), transpose(model->head_weight().detach())) *
      (3 * 0.5);
  const Tensor qk = matmul(matmul(embedding, qk_matrix(*model, head)), transpose(embedding)) * 9.0;
  check_close(ov_circuit(*model, head, {}, {}), ov, 1e-9);
  check_close(qk_circuit(*model, head, {}, {}), qk, 1e-9);
  const Tensor some = ov_circuit(*model, head, {4, 7}, {2, 3, 10});
  REQUIRE(some.shape() == Shape{2, 3});
  CHECK(some.to_vector()[5] == Approx(ov.to_vector()[7 * 11 + 10]));
  CHECK(qk_circuit(*model, head, {4, 7}, {2}).to_vector()[1] == Approx(qk.to_vector()[7 * 11 + 2]));
  check_error([&] { ov_circuit(*model, head, {11}, {}); }, {"tokens_in", "11"});
  check_error([&] { qk_circuit(*model, head, {}, {-1}); }, {"tokens_out", "-1"});
  check_error([&] { ov_circuit(*model, {1, 3}, {}, {}); }, {"1.3"});
}

TEST_CASE("heads that share keys and values have their circuits") {
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

TEST_CASE("an induction head composes with the previous-token head") {
  const PlantedModel planted;
  const WeightScores scores = weight_scores(planted.model());
  const std::size_t count = scores.heads.size();
  for (std::size_t earlier = 1; earlier < 4; ++earlier) {
    CHECK(scores.k_composition[earlier * count + 4] < scores.k_composition[4]);
  }
  CHECK(scores.k_composition[4] > 0.05);
}
