#include "headlight/runs/small_text.h"
#include "headlight/runs/config_source.h"
#include "support/test.h"

TrainConfig on_text(const TemporaryFolder& folder, std::size_t bytes) {
  TrainConfig config{.data = {folder.write("text.txt", std::string(bytes, 'a'))}};
  return config;
}

TEST_CASE("a small text without given model sizes gets a small model") {
  const TemporaryFolder folder;
  TrainConfig config = on_text(folder, 300);
  const std::string line = fit_sizes_to_text(config, {"data", "block_size"});
  CHECK(config.gpt.n_layer == 4);
  CHECK(config.gpt.n_head == 4);
  CHECK(config.gpt.n_embd == 128);
  CHECK(config.max_iters == 2000);
  CHECK(config.gpt.block_size == 1024);  // given
  CHECK(line.starts_with(
      "a small text, settings that are not given: n_layer 4, n_head 4, n_embd 128, "));
  CHECK_FALSE(contains(line, "block_size"));
}

TEST_CASE("sizes that are not given fit those that are") {
  struct Case {
    std::vector<std::pair<const char*, const char*>> given;
    Index n_layer, n_head, n_embd;
    double learning_rate;
  };
  const TemporaryFolder folder;
  const auto& [given, n_layer, n_head, n_embd, learning_rate] = GENERATE(values<Case>({
      {{{"n_layer", "2"}}, 2, 4, 128, 3e-3},
      {{{"n_embd", "64"}}, 4, 4, 64, 3e-3},
      {{{"n_embd", "66"}}, 4, 3, 66, 3e-3},
      {{{"n_embd", "384"}, {"n_layer", "6"}}, 6, 4, 384, 1e-3},
      {{{"n_head", "2"}}, 4, 2, 128, 3e-3},
      {{{"n_head", "3"}}, 4, 3, 96, 3e-3},
      {{{"n_kv_head", "3"}}, 4, 3, 96, 3e-3},
      {{{"n_embd", "66"}, {"head_width", "8"}}, 4, 4, 66, 3e-3},
  }));
  TrainConfig config = on_text(folder, 300);
  std::vector<std::string> keys;
  for (const auto& [key, value] : given) {
    set_config_value(config, key, value);
    keys.emplace_back(key);
  }
  fit_sizes_to_text(config, keys);
  CHECK(config.gpt.n_layer == n_layer);
  CHECK(config.gpt.n_head == n_head);
  CHECK(config.gpt.n_embd == n_embd);
  CHECK(config.max_iters == 2000);
  CHECK(config.learning_rate == Approx(learning_rate));
  CHECK_NOTHROW(config.validate());
}

TEST_CASE("whole models, large texts and models to start from keep their sizes") {
  const TemporaryFolder folder;
  TrainConfig whole = on_text(folder, 300);
  CHECK(fit_sizes_to_text(whole, {"n_layer", "n_head", "n_embd"}).empty());
  CHECK(whole.gpt.n_layer == 12);
  CHECK(whole.max_iters == 600000);
  TrainConfig large = on_text(folder, 10'000'000);
  CHECK(fit_sizes_to_text(large, {}).empty());
  CHECK(large.gpt.n_embd == 768);
  large.gpt.n_embd = 64;
  CHECK(fit_sizes_to_text(large, {"n_embd"}) ==
        "sizes that fit the given ones: n_head 8, n_embd 64");
  TrainConfig finetune = on_text(folder, 300);
  finetune.init_from = "gpt2";
  CHECK(fit_sizes_to_text(finetune, {}).empty());
}

TEST_CASE("data that does not exist is refused before sizes are chosen") {
  TrainConfig config{.data = {"missing.txt"}};
  CHECK_THROWS_AS(fit_sizes_to_text(config, {}), Error);
}
