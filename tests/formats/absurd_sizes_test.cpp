#include <sys/resource.h>

#include "formats/families/families.h"
#include "formats/gguf/gguf_config.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/runs/config_source.h"
#include "support/test.h"

namespace absurd_sizes_test {
// Configurations with absurd sizes are refused before memory is allocated for them.

constexpr std::array kAbsurd{"2147483648", "4611686018427387904", "-1", "0", "1e300", "1.5"};

// Integer keys of a family, and the keys that must precede them.
struct Keys {
  std::string_view type;
  std::string_view needed;
  std::vector<std::string_view> names;
};

const std::vector<Keys>& families() {
  static const std::vector<std::string_view> llama{
      "vocab_size",          "max_position_embeddings", "hidden_size",       "num_hidden_layers",
      "num_attention_heads", "num_key_value_heads",     "intermediate_size", "head_dim"};
  static const auto with = [](std::vector<std::string_view> names, std::string_view more) {
    names.push_back(more);
    return names;
  };
  static const std::vector<std::string_view> gpt2{"vocab_size", "n_positions", "n_ctx",  "n_embd",
                                                  "n_layer",    "n_head",      "n_inner"};
  static const std::vector<Keys> all{
      {"gpt2", "", gpt2},
      {"headlight", "", gpt2},
      {"gpt_neo",
       "",
       {"vocab_size", "max_position_embeddings", "hidden_size", "num_layers", "num_heads",
        "intermediate_size", "window_size"}},
      {"gpt_neox",
       "",
       {"vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers",
        "num_attention_heads", "intermediate_size"}},
      {"llama", "", llama},
      {"llama",
       R"("rope_scaling": {"rope_type": "llama3", "factor": 8}, )",
       {"original_max_position_embeddings"}},
      {"mistral", "", with(llama, "sliding_window")},
      {"qwen2", R"("use_sliding_window": true, )", with(llama, "sliding_window")},
      {"qwen3", R"("use_sliding_window": true, )", with(llama, "sliding_window")},
      {"gemma3_text", "", with(with(llama, "sliding_window"), "sliding_window_pattern")}};
  return all;
}

std::string config_of(const Keys& family, std::string_view key, std::string_view value) {
  return concat_text("{\"model_type\": \"", family.type, "\", ", family.needed, "\"", key,
                     "\": ", value, "}");
}

std::string error_of_config(const std::string& config) {
  return error_of([&] { parse_model_config(config, "config.json"); });
}

// Returns the peak memory of the process in kilobytes.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

constexpr long kLittle = 64 * 1024;  // kilobytes

std::string error_of_gguf(const TemporaryFolder& folder, const std::string& architecture,
                          const std::string& key, const GgufValue& value) {
  const auto number = [](std::uint32_t size) { return GgufValue(size); };
  GgufMetadata metadata{{"general.architecture", architecture}};
  const auto add = [&](const std::string& name, const GgufValue& usual) {
    metadata.emplace_back(architecture + "." + name, name == key ? value : usual);
  };
  add("context_length", number(8));
  add("embedding_length", number(8));
  add("block_count", number(1));
  add("attention.head_count", number(2));
  add("attention.head_count_kv", number(2));
  add("attention.key_length", number(4));
  add("feed_forward_length", number(16));
  if (architecture == "gpt2" || architecture == "gptneox") {
    add("attention.layer_norm_epsilon", 1e-5F);
  } else {
    add("attention.layer_norm_rms_epsilon", 1e-5F);
  }
  if (architecture != "gpt2") {
    add("rope.dimension_count", number(4));
  }
  const fs::path path = folder / "model.gguf";
  write_gguf(path, metadata, {{"token_embd.weight", Tensor::zeros({5, 8}), GgufType::f32}});
  return error_of([&] { read_gguf_model(GgufFile(path)); });
}

TEST_CASE("absurd sizes in a config.json are refused before memory is allocated") {
  const long before = peak_memory();
  for (const Keys& family : families()) {
    for (const std::string_view key : family.names) {
      for (const std::string_view value : kAbsurd) {
        CAPTURE(family.type, key, value);
        const std::string error = error_of_config(config_of(family, key, value));
        CAPTURE(error);
        CHECK(error.starts_with("config.json: "));
        CHECK(contains(error, std::string(key)));
      }
    }
  }
  CHECK(peak_memory() - before < kLittle);
}

TEST_CASE("absurd sizes in a GGUF file are refused before memory is allocated") {
  const TemporaryFolder folder;
  const std::vector<GgufValue> absurd{std::uint64_t{1} << 31,
                                      std::uint64_t{1} << 62,
                                      std::int32_t{-1},
                                      std::uint32_t{0},
                                      1e300,
                                      1.5F};
  const long before = peak_memory();
  for (const std::string architecture : {"llama", "qwen2", "qwen3", "gemma3", "gpt2", "gptneox"}) {
    CHECK(error_of_gguf(folder, architecture, "", {}) == "no error");
    for (const std::string key :
         {"context_length", "embedding_length", "block_count", "attention.head_count",
          "attention.head_count_kv", "attention.key_length", "feed_forward_length",
          "rope.dimension_count"}) {
      for (std::size_t i = 0; i < absurd.size(); ++i) {
        CAPTURE(architecture, key, i);
        const std::string error = error_of_gguf(folder, architecture, key, absurd[i]);
        const bool is_read = architecture != "gpt2" || key != "rope.dimension_count";
        CHECK((error == "no error") == !is_read);
        CHECK((!is_read || contains(error, architecture + "." + key)));
      }
    }
  }
  CHECK(peak_memory() - before < kLittle);
}

TEST_CASE("an embedding whose width contradicts a GGUF file's metadata is refused") {
  const TemporaryFolder folder;
  CHECK(contains(error_of_gguf(folder, "llama", "embedding_length", std::uint32_t{64}),
                 "llama.embedding_length: expected 8, the width of tensor 'token_embd.weight', "
                 "got 64"));
}

TEST_CASE("absurd sizes in training settings are refused before memory is allocated") {
  const long before = peak_memory();
  for (const std::string key : {"n_layer", "n_head", "n_embd", "block_size"}) {
    for (const std::string value : kAbsurd) {
      CAPTURE(key, value);
      TrainConfig config{
          .gpt = {.position = PositionKind::rope}, .sliding_window = 8, .rotary_pct = 0.5};
      CHECK(error_of([&] {
              set_config_value(config, key, value);
              config.validate();
            }) != "no error");
    }
  }
  CHECK(peak_memory() - before < kLittle);
}
}  // namespace absurd_sizes_test
