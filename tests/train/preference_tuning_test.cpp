#include <mutex>

#include "support/programs/local_processes.h"
#include "support/test.h"

namespace preference_tuning_test {
constexpr std::int32_t kVocabulary = 11;

// Pairs of 2 to 9 tokens with prompts of 1 to 3 tokens. Preferred answers end with token 1.
TokenDataset small_pairs(std::int32_t count) {
  TokenDataset dataset;
  dataset.documents = true;
  dataset.pairs = true;
  for (std::int32_t i = 0; i < count; ++i) {
    Ids pair;
    for (const bool preferred : {true, false}) {
      for (std::int32_t k = 0; k <= i % 3; ++k) {
        pair.push_back(as_context((i + k) % kVocabulary));
      }
      for (std::int32_t k = 0; k < (preferred ? i % 5 : (i + 3) % 6); ++k) {
        pair.push_back((2 * i + 3 * k + (preferred ? 1 : 0)) % kVocabulary);
      }
      pair.push_back(preferred ? 1 : 2);
      if (preferred) {
        pair.push_back(kPairBreak);
      }
    }
    dataset.token_count += std::ssize(pair);
    dataset.sequences.push_back(std::move(pair));
  }
  return dataset;
}

Gpt small_model(std::uint64_t seed, DType dtype = DType::float32) {
  return Gpt({.vocab_size = kVocabulary, .block_size = 16, .n_layer = 1, .n_head = 2, .n_embd = 8},
             seed, dtype);
}

Batch batch_of(const TokenDataset& dataset) {
  return SequentialBatches(dataset, {.batch_size = std::ssize(dataset.sequences)}).batch(0);
}

// Log-probability of the learned tokens of sequence `s`, from all logits of the model.
Tensor log_probability(const Gpt& model, const Batch& batch, std::size_t s) {
  const Tensor all = log_softmax(model.logits(batch));
  Tensor total = Tensor::scalar(0, DType::float64);
  for (Index row = batch.offsets[s]; row < batch.offsets[s + 1]; ++row) {
    const std::int32_t target = batch.targets.data<std::int32_t>()[row];
    if (target != kIgnoreTarget) {
      total = total + sum(slice(slice(all, 0, row, row + 1), 1, target, target + 1));
    }
  }
  return total;
}

// Equation 7 of arXiv 2305.18290 with simple ops.
Tensor plain_loss(const Gpt& model, const Gpt& reference, const Batch& batch, double beta) {
  Tensor loss = Tensor::scalar(0, DType::float64);
  for (std::size_t s = 0; s + 1 < batch.offsets.size(); s += 2) {
    const Tensor margin = log_probability(model, batch, s) - log_probability(model, batch, s + 1) -
                          (log_probability(reference, batch, s).detach() -
                           log_probability(reference, batch, s + 1).detach());
    loss = loss - log(sigmoid(beta * margin));
  }
  return loss / static_cast<double>(batch.loss_terms());
}

TrainConfig small_config() {
  TrainConfig config{.batching = "padded",
                     .batch_size = 4,
                     .dropout = 0,
                     .learning_rate = 1e-2,
                     .warmup_iters = 0,
                     .max_iters = 40};
  return config;
}

struct Outcome {
  std::vector<double> numbers;  // losses, norms and the evaluation
  NamedTensors weights;
};

Outcome trained(const TrainConfig& config, Index processes, Index steps) {
  const TokenDataset dataset = small_pairs(13);
  Outcome outcome;
  std::mutex mutex;
  run_processes(processes, [&](Processes& process) {
    Gpt model = small_model(4);
    const PreferenceTuning tuning(model, 0.5);
    const EvaluationOptions options{.batch_size = 3, .processes = &process};
    const Tensor known = tuning.log_probabilities(dataset, options);
    Trainer trainer(config, model, dataset, process);
    trainer.set_loss([&](const Batch& batch, const ForwardContext& context, Index normalizer) {
      return tuning.loss(batch, known, context, normalizer);
    });
    std::vector<double> numbers;
    for (Index i = 0; i < steps; ++i) {
      const StepMetrics metrics = trainer.step();
      numbers.insert(numbers.end(), {metrics.loss, metrics.gradient_norm});
    }
    const Evaluation end = tuning.evaluate(dataset, known, options);
    numbers.insert(numbers.end(), {end.loss, end.accuracy, end.margin});
    const std::lock_guard lock(mutex);
    if (process.leads()) {
      outcome = {numbers, model.parameters()};
    }
  });
  return outcome;
}

TEST_CASE("the loss of preferences and its gradient follow from the logits") {
  const TokenDataset dataset = small_pairs(5);
  const Batch batch = batch_of(dataset);
  const Gpt reference = small_model(1, DType::float64);
  const PreferenceTuning before(reference, 0.7);
  const Tensor known = before.log_probabilities(dataset, {.batch_size = 2});
  CHECK(known.shape() == Shape{5, 2});
  CHECK(before.loss(batch, known, {}, 0).item() == Approx(std::log(2.0)).epsilon(1e-12));

  Gpt model = small_model(2, DType::float64);
  const PreferenceTuning tuning(model, 0.7);
  const Tensor loss = tuning.loss(batch, known, {}, 0);
  backward(loss);
  std::vector<Tensor> gradients;
  for (const auto& [name, parameter] : model.parameters()) {
    gradients.push_back(parameter.grad().clone());
  }
  model.zero_grad();
  const Tensor expected = plain_loss(model, reference, batch, 0.7);
  CHECK(loss.item() == Approx(expected.item()).epsilon(1e-12));
  CHECK(tuning.loss(batch, known, {}, 8).item() == Approx(expected.item() * 5 / 8).epsilon(1e-12));
  backward(expected);
  std::size_t i = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    INFO(name);
    check_close(gradients[i++], parameter.grad(), 1e-12);
  }
}

TEST_CASE("training raises the share of pairs whose preferred answer is more probable") {
  const Outcome outcome = trained(small_config(), 1, 40);
  CHECK(outcome.numbers.front() == Approx(std::log(2.0)).epsilon(1e-6));
  const std::size_t count = outcome.numbers.size();
  CHECK(outcome.numbers[count - 3] < 0.3);
  CHECK(outcome.numbers[count - 2] > 0.9);
  CHECK(outcome.numbers[count - 1] > 1);
}

TEST_CASE("preference tuning in several processes gives the same bits") {
  TrainConfig config = small_config();
  config.shards = 4;
  config.gradient_accumulation_steps = 2;
  const Outcome one = trained(config, 1, 5);
  for (const Index processes : {2, 4}) {
    INFO(processes);
    const Outcome many = trained(config, processes, 5);
    CHECK(many.numbers == one.numbers);
    for (std::size_t i = 0; i < one.weights.size(); ++i) {
      CHECK(same_bits(many.weights[i].second, one.weights[i].second));
    }
  }
  config.shards = 1;
  const Outcome whole = trained(config, 1, 5);
  for (std::size_t i = 0; i < whole.numbers.size(); ++i) {
    CHECK(one.numbers[i] == Approx(whole.numbers[i]).epsilon(1e-4));
  }
}

TEST_CASE("an evaluation of pairs has the mean loss, the share preferred and the mean margin") {
  const TokenDataset dataset = small_pairs(7);
  const Gpt reference = small_model(1, DType::float64);
  const Tensor known = PreferenceTuning(reference, 0.5).log_probabilities(dataset);
  const Gpt model = small_model(2, DType::float64);
  const PreferenceTuning tuning(model, 0.5);
  const Batch batch = batch_of(dataset);
  double preferred = 0;
  double margin = 0;
  for (std::size_t s = 0; s < 14; s += 2) {
    const auto of = [&](const Gpt& one) {
      return log_probability(one, batch, s).item() - log_probability(one, batch, s + 1).item();
    };
    const double gained = of(model) - of(reference);
    preferred += gained > 0 ? 1 : 0;
    margin += 0.5 * gained;
  }
  for (const Index batch_size : {1, 3, 100}) {
    const Evaluation result = tuning.evaluate(dataset, known, {.batch_size = batch_size});
    CHECK(result.pairs == 7);
    CHECK(result.tokens == batch.target_count);
    CHECK(result.loss == Approx(tuning.loss(batch, known, {}, 0).item()).epsilon(1e-12));
    CHECK(result.accuracy == Approx(preferred / 7));
    CHECK(result.margin == Approx(margin / 7).epsilon(1e-12));
  }
  CHECK(tuning.evaluate(dataset, known, {.batch_size = 3, .max_batches = 2}).pairs == 6);
}

TEST_CASE("pairs without a reference, other data and a head with a bias are refused") {
  const TokenDataset dataset = small_pairs(3);
  const Gpt model = small_model(1);
  const PreferenceTuning tuning(model, 0.1);
  const Tensor two = Tensor::zeros({2, 2}, DType::float64);
  CHECK_THROWS_WITH(tuning.loss(batch_of(dataset), two, {}, 0),
                    "[PreferenceTuning] a pair has no reference");
  CHECK_THROWS_WITH(tuning.log_probabilities(document_dataset({{1, 2}}, 0)),
                    contains_text("expected a dataset of pairs"));
  check_error(
      [&] {
        tuning.loss(training_batch({{1, 2}}), two, {}, 0);
      },
      {"expected a batch of pairs"});
  const Gpt biased(
      {.vocab_size = 5, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4, .head_bias = true},
      1);
  CHECK_THROWS_WITH(PreferenceTuning(biased, 0.1), contains_text("head has a bias"));
}
}  // namespace preference_tuning_test
