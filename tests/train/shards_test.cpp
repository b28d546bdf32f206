#include <bit>
#include <mutex>

#include "support/programs/local_processes.h"
#include "support/test.h"

namespace train_shards_test {
constexpr const char* kText =
    "the cat sat on the mat\nand the dog lay by the log\na\nwhat the fox said nobody knows, but it "
    "was long and loud and went on until the morning came\nand then\n";

struct Task {
  TrainConfig config;
  CharTokenizer tokenizer = build_char_tokenizer(kText);
  TokenDataset dataset;
};

// Documents of 1 to 90 tokens, so that shards differ in size or are empty.
Task uneven_task() {
  Task task;
  TrainConfig& config = task.config;
  config.batching = "padded";
  config.batch_size = 3;
  config.gradient_accumulation_steps = 2;
  config.gpt.block_size = 64;
  config.gpt.n_layer = 2;
  config.gpt.n_head = 2;
  config.gpt.n_embd = 24;
  config.dropout = 0.1;
  config.learning_rate = 1e-2;
  config.warmup_iters = 2;
  config.max_iters = 6;
  config.shards = 8;
  std::vector<Ids> documents;
  std::string text = kText;
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    documents.push_back(task.tokenizer.encode(text.substr(0, end)));
  }
  task.dataset = document_dataset(documents, 0);
  return task;
}

// Result of training in process 0.
struct Outcome {
  std::vector<double> numbers;  // losses and norms
  NamedTensors weights;
  NamedTensors moments;
};

Outcome trained(const Task& task, Index processes, Index updates) {
  Outcome outcome;
  std::mutex mutex;
  run_processes(processes, [&](Processes& process) {
    Gpt model(task.config.model(task.tokenizer.vocab_size()), 1);
    Trainer trainer(task.config, model, task.dataset, process);
    std::vector<double> numbers;
    for (Index update = 0; update < updates; ++update) {
      const StepMetrics metrics = trainer.step();
      numbers.insert(numbers.end(), {metrics.loss, metrics.gradient_norm});
    }
    const NamedTensors moments = trainer.gather_optimizer_state();
    const std::lock_guard lock(mutex);
    if (process.leads()) {
      outcome = {numbers, model.parameters(), moments};
    }
  });
  return outcome;
}

TEST_CASE("training with 1 and 2 and 4 and 8 processes gives the same bits") {
  for (const char* optimizer : {"adamw", "sgd", "muon"}) {
    Task task = uneven_task();
    task.config.optimizer = optimizer;
    task.config.momentum = std::string(optimizer) == "adamw" ? -1 : 0.9;
    task.config.ema_decay = std::string(optimizer) == "adamw" ? 0.9 : 0;
    const Outcome one = trained(task, 1, 6);
    CHECK(one.moments.size() > 10);
    for (const Index processes : {2, 4, 8}) {
      INFO(optimizer << ", " << processes << " processes");
      const Outcome many = trained(task, processes, 6);
      CHECK(many.numbers == one.numbers);
      check_same_tensors(many.weights, one.weights);
      check_same_tensors(many.moments, one.moments);
    }
  }
}

TEST_CASE("an update split into shards has the gradient of the whole update") {
  Task task = uneven_task();
  task.config.dropout = 0;
  const Outcome sharded = trained(task, 2, 4);
  task.config.shards = 1;
  const Outcome whole = trained(task, 1, 4);
  for (std::size_t i = 0; i < whole.numbers.size(); ++i) {
    CHECK(sharded.numbers[i] == Approx(whole.numbers[i]).epsilon(1e-4));
  }
}

TEST_CASE("the optimizer state of one number of processes is restored with another") {
  Task task = uneven_task();
  task.config.ema_decay = 0.9;
  const Outcome through = trained(task, 1, 6);
  const Outcome before = trained(task, 4, 3);
  run_processes(2, [&](Processes& process) {
    Gpt model(task.config.model(task.tokenizer.vocab_size()), 5);
    copy_tensors(before.weights, model.parameters(), "weights");
    Trainer trainer(task.config, model, task.dataset, process);
    require(trainer.empty_optimizer_state().size() == before.moments.size(), "names of moments");
    trainer.set_optimizer_state(before.moments);
    trainer.optimizer().set_step_count(3);
    trainer.go_to(3, {});
    for (int update = 0; update < 3; ++update) {
      trainer.step();
    }
    for (std::size_t i = 0; i < through.weights.size(); ++i) {
      require(model.parameters()[i].second.to_vector() == through.weights[i].second.to_vector(),
              through.weights[i].first, " differs");
    }
  });
}

TEST_CASE("a process keeps only the moments of its own part") {
  const Task task = uneven_task();
  std::mutex mutex;
  Index all = 0;
  run_processes(4, [&](Processes& process) {
    Gpt model(task.config.model(task.tokenizer.vocab_size()), 1);
    Trainer trainer(task.config, model, task.dataset, process);
    Index own = 0;
    for (const auto& [name, tensor] : trainer.optimizer().state()) {
      own += tensor.numel();
    }
    require(
        std::abs(static_cast<double>(own) / (2.0 * static_cast<double>(model.parameter_count())) -
                 0.25) < 0.03,
        "process ", process.rank(), " keeps ", own, " numbers for ", model.parameter_count());
    const std::lock_guard lock(mutex);
    all += own;
  });
  const Gpt model(task.config.model(task.tokenizer.vocab_size()), 1);
  CHECK(all == 2 * model.parameter_count());
}

TEST_CASE("processes share an evaluation without changing a bit of it") {
  const Task task = uneven_task();
  const Gpt model(task.config.model(task.tokenizer.vocab_size()), 1);
  const Evaluation expected =
      evaluate(model, task.tokenizer, task.dataset, {.batch_size = 2, .block_size = 16});
  run_processes(4, [&](Processes& process) {
    const Evaluation shared = evaluate(model, task.tokenizer, task.dataset,
                                       {.batch_size = 2, .block_size = 16, .processes = &process});
    require(shared.loss == expected.loss && shared.tokens == expected.tokens, "got ", shared.loss);
  });
}

TEST_CASE("more processes than shards are refused") {
  Task task = uneven_task();
  task.config.shards = 2;
  check_error([&] { trained(task, 4, 1); },
              {"shards", "got 2; start 2 or fewer processes, or set shards = 4"});
  task.config.shards = 6;
  check_error([&] { task.config.validate(); }, {"shards", "got 6; 4 or 8 are possible"});
}
}  // namespace train_shards_test
