#include "headlight/interpret/effects/importance.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

// d (sum of the losses of a document) / d gate, by finite differences. The gate multiplies the
// output of one head.
double slope(const Gpt& gpt, const Batch& document, const HeadId& id) {
  constexpr double kStep = 1e-5;
  const auto loss_at = [&](double value) {
    HookAt gate(Point::z, id.layer, [&](const Tensor& z) {
      Tensor factors = Tensor::ones({z.size(1), 1}, z.dtype());
      factors.strided_view({1}, {1}, id.head).fill(value);
      return mul(z, factors);
    });
    return gpt.loss(document, {.hook = &gate}, {.normalizer = 1}).item();
  };
  return (loss_at(1 + kStep) - loss_at(1 - kStep)) / (2 * kStep);
}

TEST_CASE("importance is the mean absolute derivative of each document's loss by the head's gate") {
  const TokenDataset data = small_documents();
  const auto gpt = random_gpt(three_layers());
  const SequentialBatches documents(data, {.batch_size = 1, .block_size = 8});
  for (const Index batch_size : {1, 3, 100}) {
    const ImportanceResult result = head_importance(*gpt, data, {.batch_size = batch_size});
    REQUIRE(result.heads.size() == 9);
    REQUIRE(result.sequences == documents.count());
    for (const HeadImportance& head : result.heads) {
      double absolute = 0;
      double falling = 0;
      for (Index d = 0; d < documents.count(); ++d) {
        const double value = slope(*gpt, documents.batch(d), head.head);
        absolute += std::abs(value);
        falling -= value;
      }
      const auto tokens = static_cast<double>(result.tokens);
      INFO(head_name(head.head) << " in batches of " << batch_size);
      CHECK(head.sensitivity.mean == Approx(absolute / tokens).epsilon(1e-6));
      CHECK(head.taylor.mean == Approx(falling / tokens).epsilon(1e-6).margin(1e-8));
    }
  }
}

TEST_CASE("normalised importance has length 1 in every layer") {
  const auto gpt = random_gpt(three_layers());
  double squares[3] = {};
  for (const HeadImportance& head : head_importance(*gpt, small_documents()).heads) {
    squares[head.head.layer] += head.normalized * head.normalized;
  }
  for (const double square : squares) {
    CHECK(square == Approx(1));
  }
}

TEST_CASE("a head whose output is unused has no importance and no gradients remain") {
  const auto gpt = random_gpt(three_layers());
  silence(*gpt, 1, 2);
  const ImportanceResult result = head_importance(*gpt, small_documents());
  CHECK(result.heads[5].head == HeadId{1, 2});
  CHECK(result.heads[5].sensitivity.mean == 0);
  CHECK(result.heads[5].taylor.mean == 0);
  CHECK(result.heads[4].sensitivity.low > 0);
  for (const auto& [name, parameter] : gpt->parameters()) {
    CHECK_FALSE(parameter.grad().defined());
  }
}

TEST_CASE("rank correlation is Spearman's with shared ranks for ties") {
  CHECK(rank_correlation({1, 2, 3}, {10, 20, 90}) == Approx(1));
  CHECK(rank_correlation({1, 2, 3}, {3, 2, 1}) == Approx(-1));
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 * 5).
  CHECK(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}) == Approx(4.5 / std::sqrt(22.5)));
  CHECK(rank_correlation({1, 1}, {1, 2}) == 0);
  CHECK(rank_correlation({}, {}) == 0);
  check_error([] { rank_correlation({1}, {}); }, {"rank_correlation", "1", "0"});
}
