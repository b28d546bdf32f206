#include "kernels/gemm/gemm.h"
#include "support/test.h"

namespace trainer_test {
std::string repetitive_text() {
  return repeated("the cat sat on the mat and the dog lay by the log. ", 80);
}

struct Setup {
  CharTokenizer tokenizer = build_char_tokenizer(repetitive_text());
  TokenDataset dataset = stream_dataset(tokenizer.encode(repetitive_text()));
  TrainConfig config;
  std::unique_ptr<Gpt> model;

  Setup() {
    config.batch_size = 8;
    config.gpt.block_size = 32;
    config.gpt.n_layer = 2;
    config.gpt.n_head = 2;
    config.gpt.n_embd = 32;
    config.learning_rate = 1e-2;
    config.warmup_iters = 5;
    config.max_iters = 60;
    config.lr_decay_iters = 60;
    model = std::make_unique<Gpt>(config.model(tokenizer.vocab_size()), 1);
  }
};

std::vector<double> all_weights(const Gpt& model) {
  std::vector<double> values;
  for (const auto& [name, tensor] : model.parameters()) {
    const std::vector<double> part = tensor.to_vector();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

TEST_CASE("the phases of an update sum to its time and all of them take some") {
  Setup setup;
  setup.config.gradient_accumulation_steps = 2;
  Trainer trainer(setup.config, *setup.model, setup.dataset);
  const StepMetrics metrics = trainer.step();
  const PhaseSeconds& phases = metrics.phases;
  for (const double seconds : {phases.data, phases.forward, phases.backward, phases.optimizer}) {
    CHECK(seconds > 0);
  }
  CHECK(phases.total() ==
        Approx(phases.data + phases.forward + phases.backward + phases.optimizer));
  CHECK(metrics.seconds == Approx(phases.total()));
}

TEST_CASE("a factor of the learning rate scales every later step") {
  Setup setup;
  Trainer trainer(setup.config, *setup.model, setup.dataset);
  const LearningRateSchedule schedule = setup.config.schedule();
  CHECK(trainer.step().learning_rate == schedule.at(0));
  trainer.set_rate_factor(0.25);
  CHECK(trainer.step().learning_rate == 0.25 * schedule.at(1));
  trainer.set_rate_factor(0);
  const std::vector<double> weights = all_weights(*setup.model);
  CHECK(trainer.step().learning_rate == 0);
  CHECK(all_weights(*setup.model) == weights);
}

TEST_CASE("training brings the loss of a repetitive text down") {
  for (const char* optimizer : {"adamw", "sgd", "muon"}) {
    Setup setup;
    setup.config.optimizer = optimizer;
    setup.config.learning_rate = std::string(optimizer) == "sgd" ? 0.3 : 1e-2;
    Trainer trainer(setup.config, *setup.model, setup.dataset);
    const StepMetrics first = trainer.step();
    CHECK(first.loss == Approx(std::log(setup.tokenizer.vocab_size())).epsilon(0.05));
    CHECK(first.tokens == 8 * 32);
    CHECK(first.gradient_norm > 0);
    INFO(optimizer);
    CHECK(trainer.fit().loss < 0.6 * first.loss);
    CHECK(live_graph_nodes() == 0);
  }
}

TEST_CASE("losses of training with bfloat16 products stay close to those of float32") {
  if (kernels::bfloat16_instructions().empty()) {
    return;  // without such instructions bfloat16 is refused: see the tests of gemm
  }
  Setup plain;
  Setup rounded;
  rounded.config.dtype = "bfloat16";
  Trainer plain_trainer(plain.config, *plain.model, plain.dataset);
  Trainer rounded_trainer(rounded.config, *rounded.model, rounded.dataset);
  // Compares sums over all steps, because single losses differ more where the loss falls steeply.
  double losses = 0;
  double apart = 0;
  while (plain_trainer.iteration() < plain.config.max_iters) {
    const double expected = plain_trainer.step().loss;
    losses += expected;
    apart += std::abs(rounded_trainer.step().loss - expected);
  }
  CHECK(apart > 0);
  CHECK(apart < 0.01 * losses);
}

TEST_CASE("accumulated small batches give the gradient of one large batch") {
  Setup setup;
  setup.config.gradient_accumulation_steps = 4;
  setup.config.batch_size = 2;
  Trainer trainer(setup.config, *setup.model, setup.dataset);
  const StepMetrics metrics = trainer.step();
  CHECK(metrics.tokens == 4 * 2 * 32);
  CHECK(metrics.loss == Approx(std::log(setup.tokenizer.vocab_size())).epsilon(0.05));
}

TEST_CASE("a loss that is not finite is reported and changes no weight") {
  Setup setup;
  Trainer trainer(setup.config, *setup.model, setup.dataset);
  trainer.step();
  Tensor poisoned = setup.model->parameters().back().second;
  poisoned.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  poisoned.data<float>()[1] = 0.5F;
  const std::vector<double> before = all_weights(*setup.model);
  CHECK_THROWS_WITH(trainer.step(), contains_text("not finite"));
  const std::vector<double> after = all_weights(*setup.model);
  Index changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    changed += before[i] == after[i] || std::isnan(before[i]) ? 0 : 1;
  }
  CHECK(changed == 0);
}

TEST_CASE("the moving average follows the weights and can be exchanged with them") {
  Setup setup;
  setup.config.ema_decay = 0.5;
  Trainer trainer(setup.config, *setup.model, setup.dataset);
  std::vector<double> expected = all_weights(*setup.model);
  for (int step = 1; step <= 12; ++step) {
    trainer.step();
    const std::vector<double> weights = all_weights(*setup.model);
    const double decay = std::min(0.5, (1.0 + step) / (10.0 + step));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      expected[i] = decay * expected[i] + (1 - decay) * weights[i];
    }
  }
  const std::vector<double> weights = all_weights(*setup.model);
  trainer.exchange_average();
  const std::vector<double> average = all_weights(*setup.model);
  double apart = 0;
  double largest_error = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    apart = std::max(apart, std::abs(average[i] - weights[i]));
    largest_error = std::max(largest_error, std::abs(average[i] - expected[i]));
  }
  CHECK(apart > 1e-3);
  CHECK(largest_error < 1e-6);
  trainer.exchange_average();
  CHECK(all_weights(*setup.model) == weights);
}

TEST_CASE("the terms of the loss in training change it but not evaluations") {
  const auto first_loss = [](double smoothing, double z_loss) {
    Setup setup;
    setup.config.label_smoothing = smoothing;
    setup.config.z_loss = z_loss;
    Trainer trainer(setup.config, *setup.model, setup.dataset);
    return trainer.step().loss;
  };
  const double plain = first_loss(0, 0);
  CHECK(first_loss(0.5, 0) != plain);
  // The logits of a new model are near 0: log Z is near the logarithm of the vocabulary's size.
  const double log_z = std::log(Setup().tokenizer.vocab_size());
  CHECK(first_loss(0, 0.1) - plain == Approx(0.1 * log_z * log_z).epsilon(0.1));
}

TEST_CASE("a layer decay lowers the learning rate of each layer below the top") {
  const auto changes = [](double decay) {
    Setup setup;
    setup.config.layer_decay = decay;
    setup.config.weight_decay = 0;
    const NamedTensors parameters = setup.model->parameters();
    const auto before = mapped<Tensor>(
        parameters, [&](const auto& parameter) { return parameter.second.detach().clone(); });
    Trainer trainer(setup.config, *setup.model, setup.dataset);
    trainer.step();
    std::map<std::string, double> result;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      double sum = 0;
      const std::vector<double> old = before[i].to_vector();
      const std::vector<double> now = parameters[i].second.to_vector();
      for (std::size_t j = 0; j < old.size(); ++j) {
        sum += std::abs(now[j] - old[j]);
      }
      result[parameters[i].first] = sum;
    }
    return result;
  };
  const auto whole = changes(1);
  const auto decayed = changes(0.5);
  const auto factor = [&](const std::string& name) { return decayed.at(name) / whole.at(name); };
  CHECK(factor("ln_f.weight") == Approx(1).epsilon(1e-3));
  CHECK(factor("h.1.mlp.c_fc.weight") == Approx(0.5).epsilon(1e-2));
  CHECK(factor("h.0.mlp.c_fc.weight") == Approx(0.25).epsilon(1e-2));
  CHECK(factor("wte.weight") == Approx(0.125).epsilon(1e-2));
  Setup setup;
  setup.config.layer_decay = 0.5;
  setup.config.optimizer = "sgd";
  CHECK_THROWS_WITH(setup.config.validate(), "layer_decay: needs optimizer = adamw, got sgd");
}

TEST_CASE("settings of Muon take effect") {
  const auto weights_after = [](const auto& change) {
    Setup setup;
    setup.config.optimizer = "muon";
    change(setup.config);
    Trainer trainer(setup.config, *setup.model, setup.dataset);
    trainer.step();
    trainer.step();
    return all_weights(*setup.model);
  };
  const std::vector<double> usual = weights_after([](TrainConfig&) {});
  CHECK(weights_after([](TrainConfig& config) { config.momentum = 0.95; }) == usual);
  CHECK(weights_after([](TrainConfig& config) { config.momentum = 0.9; }) != usual);
  CHECK(weights_after([](TrainConfig& config) { config.weight_decay = 0.3; }) != usual);
  CHECK(weights_after([](TrainConfig& config) { config.adjust_lr_fn = "original"; }) != usual);
  CHECK(weights_after([](TrainConfig& config) { config.ns_steps = 4; }) != usual);
  CHECK(weights_after([](TrainConfig& config) { config.beta2 = 0.5; }) != usual);
}
}  // namespace trainer_test
