#include "formats/families/families.h"
#include "headlight/runs/starting_model.h"
#include "support/models/drawn_config.h"
#include "support/models/drawn_family.h"
#include "support/test.h"

namespace drawn_families_test {
// Every family that is read can be trained, written and read again.

constexpr int kDraws = 12;

std::unique_ptr<Gpt> drawn_model(const GptConfig& config) {
  auto model = std::make_unique<Gpt>(config, 1);
  spread_weights(*model);
  return model;
}

fs::path written(const TemporaryFolder& folder, const std::string& name, const Gpt& model) {
  const fs::path directory = folder / name;
  fs::create_directories(directory);
  write_model_files(directory, model, build_char_tokenizer("abc"));
  return directory;
}

Tensor logits_of(const Gpt& model, int number) {
  return model.logits(make_batch({drawn_tokens(number, model.config())}));
}

// Checks that a model is read from its folder with the same logits and without a warning.
void check_read_back(const TemporaryFolder& folder, const Gpt& model, int number) {
  const fs::path directory = written(folder, std::to_string(number), model);
  std::vector<std::string> lines;
  const auto again = load_weights(
      directory,
      {.bidirectional = true, .warn = [&](const std::string& line) { lines.push_back(line); }});
  CHECK(lines.empty());
  CHECK(same_bits(logits_of(*again, number), logits_of(model, number)));
  fs::remove_all(directory);
}

TEST_CASE("drawn configurations of every family are written and read again with equal logits") {
  const TemporaryFolder folder;
  for (const std::string_view type : family_types()) {
    for (int number = 0; number < kDraws; ++number) {
      const std::string text = drawn_family_config(type, number);
      INFO(text);
      const ModelConfig read = parse_model_config(text, "config.json");
      CHECK(read.unread.empty());
      CHECK_NOTHROW(require_exportable(read.config));
      check_read_back(folder, *drawn_model(read.config), number);
    }
  }
}

TEST_CASE("every combination of configuration keys is read back from its folder") {
  const TemporaryFolder folder;
  for (int number = 0; number < 100; ++number) {
    const GptConfig config = drawn_config(number);
    INFO("drawn_config(" << number << ")");
    check_read_back(folder, *drawn_model(config), number);
  }
}

TEST_CASE("drawn models of every causal family can be trained", "[long]") {
  const TemporaryFolder folder;
  for (const std::string_view type : family_types()) {
    for (int number = 0; number < kDraws && type != "bert"; ++number) {
      const std::string text = drawn_family_config(type, number);
      INFO(text);
      GptConfig config = parse_model_config(text, "config.json").config;
      const auto model = drawn_model(config);
      TrainConfig run{.init_from = written(folder, concat_text(type, number), *model).string(),
                      .dropout = 0.25};
      adopt_architecture(run, {"dropout"});
      CHECK_NOTHROW(run.validate());
      config = read_effective_config(run.init_from);
      CHECK_NOTHROW(fit_to_run(config, run));
      CHECK(config.windows == read_effective_config(run.init_from).windows);
      CHECK(config.residual_dropout == 0.25);
      CHECK(!is_headlight(family_for(config)));
    }
  }
}
}  // namespace drawn_families_test
