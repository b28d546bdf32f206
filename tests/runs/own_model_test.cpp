#include "support/models/own_model.h"
#include "headlight/runs/checkpoint.h"
#include "support/test.h"

struct Setup {
  CharTokenizer tokenizer = build_char_tokenizer("abcabdabcabd");
  TokenDataset dataset = stream_dataset(tokenizer.encode("abcabdabcabdabcabdabdabcabcabdabcabdab"));
  TrainConfig config = {};
  GptConfig shape = {};

  Setup() {
    config.batch_size = 3;
    config.gpt.block_size = 8;
    config.gpt.n_layer = 2;
    config.gpt.n_head = 2;
    config.gpt.n_embd = 8;
    config.learning_rate = 1e-2;
    config.warmup_iters = 2;
    config.max_iters = 20;
    config.gradient_accumulation_steps = 2;
    shape = config.model(tokenizer.vocab_size());
  }

  std::vector<double> train(LanguageModel& model, Index updates) const {
    Trainer trainer(config, model, dataset);
    return counted<double>(updates, [&](Index) { return trainer.step().loss; });
  }
};

TEST_CASE("a custom model is trained and evaluated like a Gpt") {
  const Setup setup;
  Gpt gpt(setup.shape, 1);
  OwnModel own(setup.shape, 1);
  const std::vector<double> expected = setup.train(gpt, 20);
  const std::vector<double> losses = setup.train(own, 20);
  CHECK(losses.back() < losses.front());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    CHECK(std::abs(losses[i] - expected[i]) < 1e-4);
  }
  const EvaluationOptions options{.batch_size = 2};
  const Evaluation evaluation = evaluate(own, setup.tokenizer, setup.dataset, options);
  CHECK(std::abs(evaluation.loss - evaluate(own.inner, setup.tokenizer, setup.dataset).loss) <
        1e-5);
  double sum = 0;
  Index count = 0;
  evaluate_tokens(own, setup.tokenizer, setup.dataset, options, [&](const TokenEvaluation& token) {
    if (token.is_predicted()) {
      sum -= token.log_probability;
      ++count;
    }
  });
  CHECK(count == evaluation.tokens);
  CHECK(std::abs(sum / static_cast<double>(count) - evaluation.loss) < 1e-5);
}

TEST_CASE("a custom model generates without a cache") {
  const Setup setup;
  OwnModel own(setup.shape, 1);
  setup.train(own, 10);
  // Longer than block_size, so that the context is cut.
  for (const double temperature : {0.0, 1.0}) {
    const GenerateOptions options{
        .max_new_tokens = 20, .sampling = {.temperature = temperature}, .ignore_end_of_text = true};
    const GenerateResult result = generate(own, setup.tokenizer, "abca", options);
    CHECK(result.tokens.size() == 20);
    CHECK(result.text == generate(own.inner, setup.tokenizer, "abca", options).text);
  }
  Decoder decoder(own);
  CHECK(!decoder.has_steps());
  CHECK(generate_samples(decoder, setup.tokenizer, "ab", {.max_new_tokens = 5}, 3).size() == 3);
  CHECK_THROWS_WITH(decoder.make_cache(),
                    contains_text("a model of type 'custom' cannot decode token by token"));
}

TEST_CASE("a custom model resumes from its checkpoint with the same bits") {
  const Setup setup;
  const TemporaryFolder folder;
  OwnModel whole(setup.shape, 1);
  const std::vector<double> losses = setup.train(whole, 20);

  OwnModel first(setup.shape, 1);
  Trainer before(setup.config, first, setup.dataset);
  while (before.iteration() < 8) {
    before.step();
  }
  const TrainingState state{.iteration = 8};
  save_checkpoint(folder.path(), {first, setup.tokenizer, before.optimizer(), state}, {});

  OwnModel second(setup.shape, 7);
  std::vector<std::string> skipped;
  const auto checkpoint = find_latest_checkpoint(folder.path(), skipped);
  load_parameters(folder.path(), second);
  Trainer after(setup.config, second, setup.dataset);
  REQUIRE(read_optimizer(checkpoint, after.optimizer()));
  after.go_to(read_training_state(checkpoint).iteration, {});
  for (std::size_t i = 8; i < losses.size(); ++i) {
    CHECK(after.step().loss == losses[i]);
  }
}

TEST_CASE("weights of another model are not loaded into a custom model") {
  const Setup setup;
  const TemporaryFolder folder;
  OwnModel own(setup.shape, 1);
  write_model_files(folder.path(), own, setup.tokenizer);
  CHECK_THROWS_WITH(load_model(folder.path()), contains_text("or bert, got 'custom'"));
  GptConfig wider = setup.shape;
  wider.n_embd = 16;
  OwnModel other(wider, 1);
  CHECK_THROWS_WITH(load_parameters(folder.path(), other),
                    contains_text("model.safetensors: tensor inner.wte.weight: expected shape"));
  const Gpt gpt(setup.shape, 1);
  write_model_files(folder.path(), gpt, setup.tokenizer);
  CHECK_THROWS_WITH(load_parameters(folder.path(), own),
                    contains_text("config.json: model_type: expected 'custom', got \"gpt2\""));
}
