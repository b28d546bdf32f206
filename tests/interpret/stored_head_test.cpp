#include "headlight/interpret/effects/attribution.h"
#include "headlight/interpret/scores/token_circuits.h"
#include "headlight/interpret/scores/weight_scores.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/effects/token_losses.h"
#include "support/test.h"

// A matrix that gives products and single rows, and refuses to give all elements.
class RowsOnly final : public StoredWeight {
 public:
  RowsOnly(Tensor weight, Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

  Tensor product(const Tensor& x, Precision precision) const override {
    return linear(x, weight_, bias_, precision);
  }
  Tensor rows(const Tensor& ids) const override { return embedding(weight_, ids); }
  Tensor weight() const override { throw std::logic_error("the whole matrix was expanded"); }
  bool is_rounded() const override { return false; }

 private:
  Tensor weight_;
  Tensor bias_;
};

// Returns a small model; its head and embedding refuse to be expanded if `rows_only`.
std::unique_ptr<Gpt> small_model(bool rows_only) {
  GptConfig config{.vocab_size = 40,
                   .block_size = 16,
                   .n_layer = 2,
                   .n_head = 4,
                   .n_embd = 32,
                   .tie_weights = false,
                   .n_kv_head = 2};
  auto model = std::make_unique<Gpt>(config, 7);

  for (const auto& [weight, tensor] : model->weights()) {
    Tensor(tensor).set_requires_grad(false);
  }
  if (rows_only) {
    auto& wte = dynamic_cast<Embedding&>(*model->find_part("wte"));
    wte.store(std::make_shared<RowsOnly>(wte.weight.clone(), Tensor()));
    auto& head = dynamic_cast<Linear&>(*model->find_part("lm_head"));
    head.store(std::make_shared<RowsOnly>(head.weight.clone(), Tensor()));
  }
  return model;
}

std::vector<double> logits_of_parts(const Gpt& model) {
  std::vector<double> logits;
  for (const LogitPart& part :
       attribute_logit(model, {.text = {1, 2, 3, 4}, .target = 5, .against = 6}).parts) {
    logits.push_back(part.logit);
  }
  return logits;
}

TEST_CASE("analyses read single rows of a head that is stored in another form") {
  const std::unique_ptr<Gpt> plain = small_model(false);
  const std::unique_ptr<Gpt> stored = small_model(true);
  CHECK_THROWS_AS(stored->head_weight(), std::logic_error);

  CHECK(logits_of_parts(*stored) == logits_of_parts(*plain));

  for (const bool several : {false, true}) {
    PatchingTask task{.clean = {1, 2, 3}, .corrupt = {1, 4, 3}, .answer = {5}, .wrong = {6}};
    if (several) {
      task.answer.push_back(7);
      task.wrong.push_back(8);
    }
    CHECK(AnswerContrast(*stored, task).difference(*stored, task.clean, nullptr) ==
          Approx(AnswerContrast(*plain, task).difference(*plain, task.clean, nullptr)));
  }

  const NoGrad no_grad;
  const Tensor hidden = plain->hidden(make_batch({{1, 2, 3, 4}}));
  const Tensor targets = Tensor::from<std::int32_t>({2, 3, kIgnoreTarget, 5}, {4});
  check_close(Tensor::from(token_losses(*stored, hidden, targets), {4}),
              Tensor::from(token_losses(*plain, hidden, targets), {4}), 1e-5);

  CHECK(
      same_bits(ov_circuit(*stored, {0, 1}, {1, 2}, {3}), ov_circuit(*plain, {0, 1}, {1, 2}, {3})));
  CHECK(same_bits(ov_circuit(*stored, {0, 1}, {}, {}), ov_circuit(*plain, {0, 1}, {}, {})));
  CHECK(weight_scores(*stored).copying == weight_scores(*plain).copying);
}
