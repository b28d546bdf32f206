#include "base/json.h"
#include "formats/adapter/adapter.h"
#include "support/test.h"

// Adapters of PEFT in tests/formats/adapter/data; tools/parity/make_adapters.py writes them.

const fs::path kData = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/formats/adapter/data";

// Returns the logits after the ids of logits.json.
std::vector<double> last_logits(const Gpt& model, const Json& expected) {
  const auto ids = mapped<std::int32_t>(
      expected["ids"], [&](const Json& id) { return static_cast<std::int32_t>(id.integer()); });
  return model.next_logits(make_batch({ids})).to_vector();
}

TEST_CASE("adapters of PEFT give PEFT's logits") {
  const Json expected = parse_json(file_contents(kData / "logits.json"), "logits.json");
  for (const auto& [name, values] : expected.members()) {
    if (name == "ids") {
      continue;
    }
    INFO(name);
    if (name.ends_with("pissa") || name.ends_with("olora")) {
      check_error([&, &folder = name] { load_weights(kData / folder); },
                  {"init_lora_weights", "merge_and_unload"});
      continue;
    }
    if (name == "tied-tied_embedding") {
      CHECK_THROWS_WITH(load_weights(kData / name), contains_text("ensure_weight_tying: is not"));
      continue;
    }
    const auto model = load_weights(kData / name);
    const std::vector<double> logits = last_logits(*model, expected);
    REQUIRE(logits.size() == values.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      CHECK(logits[i] == Approx(values[i].number()).margin(2e-4));
    }
    const GptConfig config = read_effective_config(kData / name);
    CHECK(config.vocab_size == model->vocab_size());
    CHECK(config.tie_weights == model->config().tie_weights);
  }
}

TEST_CASE("adapters of PEFT are trained further as they are, and written for PEFT") {
  const Json expected = parse_json(file_contents(kData / "logits.json"), "logits.json");
  const std::string name = GENERATE("llama-ranks", "llama-alphas", "llama-dora", "gpt2-dora",
                                    "llama-tokens", "tied-tokens", "llama-bf16", "llama-mica");
  INFO(name);
  const EarlierAdapter earlier = read_earlier_adapter(kData / name);
  const fs::path base = base_of_adapter(kData / name);
  const auto model = load_weights(base);
  Adapter adapter =
      plan_adapter(base, model->config(), earlier.options, {.modules = earlier.modules});
  add_lora(*model, adapter.modules(), adapter.options, {1, 0});
  if (!earlier.tokens.empty()) {
    model->train_rows(earlier.tokens);
    adapter.tokens = earlier.tokens;
  }
  read_adapter(kData / name, adapter, *model);
  const TemporaryFolder folder;
  write_adapter(folder.path(), adapter, adapter_tensors(adapter, *model));
  const std::vector<double> logits = last_logits(*model, expected);
  const std::vector<double> again = last_logits(*load_weights(folder.path()), expected);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    CHECK(logits[i] == Approx(expected[name][i].number()).margin(2e-4));
    CHECK(again[i] == Approx(expected[name][i].number()).margin(2e-4));
  }
}

TEST_CASE("adapters with parts that a run cannot train are refused by name") {
  const auto [name, part] = GENERATE(
      table<std::string, std::string>({{"llama-saved_modules", "whole tensor 'lm_head.weight'"},
                                       {"llama-biases", "whole tensor"},
                                       {"llama-tokens_and_head", "whole tensor 'lm_head.weight'"},
                                       {"llama-embeddings", "whole tensor 'lm_head.weight'"}}));
  CHECK_THROWS_WITH(read_earlier_adapter(kData / name),
                    contains_text(part) && contains_text("make a whole model of it first"));
}

TEST_CASE("names of other modules and tokens are refused") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "adapter";
  const auto [name, from, to, message] =
      GENERATE(table<std::string, std::string, std::string, std::string>(
          {{"tied-tokens", "\"trainable_token_indices\": [\n  10,",
            "\"trainable_token_indices\": [", "has rows of 2 tokens, adapter_config.json names 1"},
           {"tied-tokens", "10,", "12,", "trainable_token_indices has 12, the model has 12 tokens"},
           {"tied-tokens", "10,", "-1,", "trainable_token_indices: expected token ids, got -1"},
           {"llama-saved_modules", "../llama", "../gpt2", "the base model has no such"}}));
  fs::copy(kData / name, path);
  std::string config = file_contents(path / "adapter_config.json");
  REQUIRE(config.find(from) != std::string::npos);
  config.replace(config.find(from), from.size(), to);
  const std::size_t base = config.find("../");
  config.replace(base, 2, kData.string());
  write_bytes(path / "adapter_config.json", config);
  CHECK_THROWS_WITH(load_weights(path), contains_text(message));
}
