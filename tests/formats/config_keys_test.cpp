#include <nlohmann/json.hpp>

#include "formats/families/families.h"
#include "headlight/nn/architecture.h"
#include "headlight/text/char_tokenizer.h"
#include "support/catch.h"
#include "support/drawn_family.h"
#include "support/tensors.h"

namespace config_keys_test {

// Keys of config.json that change the numbers are used or refused, at any value.
using namespace headlight;
using namespace headlight::test;

namespace {

using nlohmann::json;

GptConfig config_of(std::string_view type, const std::string& keys) {
  return parse_model_config(concat_text(R"({"model_type": ")", type, "\", ", keys, "}"),
                            "config.json")
      .config;
}

std::string error_with(std::string_view type, const std::string& keys) {
  return error_of([&] { config_of(type, keys); });
}

json written(const GptConfig& config) {
  return json::parse(family_config_json(family_for(config), config, build_char_tokenizer("ab"),
                                        StoredFloats::float32));
}

constexpr const char* kRope = R"("rope_type": "default", "rope_theta": 7)";

}  // namespace

TEST_CASE("keys that every family of transformers reads are obeyed or refused") {
  for (const std::string_view type : family_types()) {
    INFO(type);
    const bool causal = type != "bert";
    const std::string usual = causal ? "true" : "false";
    CHECK(error_with(type, R"("is_causal": )" + usual) == "no Error");
    CHECK(error_with(type, concat_text(R"("is_causal": )", causal ? "false" : "true")) ==
          "config.json: is_causal: only " + usual + " is supported");
    CHECK(error_with(type, R"("is_causal": 0)") ==
          "config.json: is_causal: expected true or false");
    CHECK(error_with(type, R"("per_layer_config": {"0": {"num_attention_heads": 1}})") ==
          "config.json: per_layer_config: layers of different kinds are not supported");
    CHECK(error_with(type, R"("pruned_heads": {"0": [1]})") ==
          "config.json: pruned_heads: heads that config.json removes are not supported");
    CHECK(error_with(type, R"("per_layer_config": {}, "pruned_heads": {},
                              "quantization_config": null)") == "no Error");
  }
  // null is not true: transformers would attend to both sides.
  CHECK(error_with("llama", R"("is_causal": null)") ==
        "config.json: is_causal: expected true or false, got null");
}

TEST_CASE("null is refused where it would turn off what is usually on") {
  CHECK(error_with("gpt_neox", R"("use_parallel_residual": null)") ==
        "config.json: use_parallel_residual: expected true or false, got null");
  CHECK(error_with("starcoder2", R"("use_bias": null)") ==
        "config.json: use_bias: expected true or false, got null");
  CHECK(error_with("gpt2", R"("tie_word_embeddings": null)") ==
        "config.json: tie_word_embeddings: expected true or false, got null");
  CHECK(error_with("stablelm", R"("partial_rotary_factor": null)") ==
        "config.json: partial_rotary_factor: expected a number, got null");
  CHECK(error_with("llama", R"("attention_bias": null, "partial_rotary_factor": null)") ==
        "no Error");
}

TEST_CASE("GPT-2 and GPT-Neo have other names for their sizes, which have priority") {
  const GptConfig gpt2 = config_of("gpt2", R"("hidden_size": 12, "num_attention_heads": 3,
      "n_head": 12, "num_hidden_layers": 2, "max_position_embeddings": 5)");
  CHECK(gpt2.n_embd == 12);
  CHECK(gpt2.n_head == 3);
  CHECK(gpt2.n_layer == 2);
  CHECK(gpt2.block_size == 5);
  CHECK(error_with("gpt2", R"("num_attention_heads": 5)") ==
        "config.json: num_attention_heads: expected a divisor of n_embd 768, got 5");
  const GptConfig neo = config_of("gpt_neo", R"("num_attention_heads": 4, "num_hidden_layers": 2,
                              "attention_types": [[["global", "local"], 1]])");
  CHECK(neo.n_head == 4);
  CHECK(neo.windows == std::vector<Index>{0, 256});
}

TEST_CASE("GPT-Neo's attention_layers have priority over attention_types") {
  const std::string types = R"("num_layers": 2, "attention_types": [[["global", "local"], 1]])";
  CHECK(config_of("gpt_neo", types + R"(, "attention_layers": ["local", "global"])").windows ==
        std::vector<Index>{256, 0});
  CHECK(error_with("gpt_neo", types + R"(, "attention_layers": [])") ==
        "config.json: attention_layers: expected 2 layers, got 0");
  CHECK(error_with("gpt_neo", types + R"(, "attention_layers": ["local", "near"])") ==
        "config.json: attention_layers: expected global or local, got \"near\"");
}

TEST_CASE("Mistral's layer_types are Ministral's: layers with and without a window") {
  const std::string two = R"("num_hidden_layers": 2, "sliding_window": 9, )";
  CHECK(config_of("mistral", two + R"("layer_types": null)").windows == std::vector<Index>{9, 9});
  CHECK(config_of("mistral", two + R"("layer_types": ["full_attention", "sliding_attention"])")
            .windows == std::vector<Index>{0, 9});
  CHECK(error_with("mistral", two + R"("layer_types": [])") ==
        "config.json: layer_types: expected 2 texts, got 0");
}

TEST_CASE("an empty rope_scaling leaves rope_parameters in force, and a full one replaces them") {
  for (const char* type :
       {"llama",    "mistral", "qwen2",   "qwen3",   "phi3",   "stablelm", "starcoder2",
        "phi",      "gemma",   "granite", "smollm3", "arcee",  "ernie4_5", "helium",
        "seed_oss", "olmo",    "olmo2",   "exaone4", "gemma2", "nanochat", "gpt_neox"}) {
    for (const char* empty : {"{}", "null", "false"}) {
      INFO(type << " " << empty);
      const std::string keys =
          concat_text(R"("rope_scaling": )", empty, R"(, "rope_parameters": {)", kRope, "}");
      CHECK(config_of(type, keys).rope.theta == 7);
    }
  }
  const GptConfig scaled =
      config_of("llama", R"("rope_theta": 5, "rope_scaling": {"type": "linear", "factor": 2},
                  "rope_parameters": {"rope_type": "default", "rope_theta": 7})");
  CHECK(scaled.rope.theta == 5);
  CHECK(scaled.rope.scaling == RopeScaling::linear);
}

TEST_CASE("rotations for types of layers are refused where all layers have the same") {
  const std::string types = concat_text(R"("rope_parameters": {"full_attention": {)", kRope, "}}");
  CHECK(error_with("qwen3", types) ==
        "config.json: rope_parameters.full_attention: expected one rotation for all types of "
        "layers");
  CHECK(config_of("gemma3_text", types).rope.theta == 7);
  CHECK(error_with("gemma3_text", concat_text(R"("rope_parameters": {)", kRope, "}")) ==
        "config.json: rope_parameters: expected full_attention and sliding_attention");
}

TEST_CASE("two lengths of the original context may not contradict each other") {
  const auto yarn = [](const char* type, int inside, int outside) {
    return error_with(type, concat_text(R"("original_max_position_embeddings": )", outside,
                                        R"(, "rope_scaling": {"rope_type": "yarn", "factor": 2,
                                            "original_max_position_embeddings": )",
                                        inside, "}"));
  };
  CHECK(yarn("llama", 64, 64) == "no Error");
  CHECK(yarn("llama", 64, 32) ==
        "config.json: rope_scaling.original_max_position_embeddings: expected 32, as outside of "
        "the object, got 64");
}

TEST_CASE("truncate of yarn counts outside of the types of layers, as in transformers") {
  const auto olmo3 = [](const char* inside, const char* outside) {
    return concat_text(R"("rope_parameters": {"truncate": )", outside,
                       R"(, "full_attention": {"rope_type": "yarn", "rope_theta": 500000,
                             "factor": 2, "truncate": )",
                       inside, "}}");
  };
  CHECK_FALSE(config_of("olmo3", olmo3("false", "false")).rope.truncate);
  CHECK(error_with("olmo3", olmo3("false", "true")) ==
        "config.json: rope_parameters: expected truncate = 0 beside full_attention, as inside");
}

TEST_CASE("rotations are written for transformers 4 and 5") {
  const auto scaled = [](const char* type) {
    return written(config_of(type, R"("rope_theta": 500000.0, "vocab_size": 9,
                                      "rope_scaling": {"rope_type": "linear", "factor": 2.0})"));
  };
  for (const char* type : {"llama", "gemma3_text", "olmo3", "smollm3"}) {
    INFO(type);
    const json config = scaled(type);
    const json& parameters = config["rope_parameters"];
    CHECK(config["rope_theta"] == 500000.0);
    CHECK(config["rope_scaling"] == json{{"rope_type", "linear"}, {"factor", 2.0}});
    CHECK(parameters.value("full_attention", parameters) ==
          json{{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 500000.0}});
  }
  const json gemma = scaled("gemma3_text");
  CHECK(gemma["rope_local_base_freq"] == 10000.0);
  CHECK(gemma["rope_parameters"]["sliding_attention"] ==
        json{{"rope_type", "default"}, {"rope_theta", 10000.0}});
  CHECK(gemma["sliding_window_pattern"] == 6);
  CHECK(scaled("olmo3")["rope_parameters"]["sliding_attention"]["rope_theta"] == 500000.0);
  // transformers 4 accepts exactly these keys for OLMo 1 and 2.
  CHECK(scaled("olmo2")["rope_scaling"] == json{{"type", "linear"}, {"factor", 2.0}});
}

TEST_CASE("longrope has three keys for transformers 4, or more, which that refuses") {
  const auto phi3 = [](const char* more) {
    return written(config_of("phi3", concat_text(R"("hidden_size": 32, "num_attention_heads": 4,
        "max_position_embeddings": 64, "original_max_position_embeddings": 16, "vocab_size": 9,
        "rope_parameters": {"rope_type": "longrope", "short_factor": [1, 2, 3, 4],
                            "long_factor": [5, 6, 7, 8])",
                                                 more, "}")));
  };
  CHECK(phi3("")["rope_scaling"] == json{{"type", "longrope"},
                                         {"short_factor", {1.0, 2.0, 3.0, 4.0}},
                                         {"long_factor", {5.0, 6.0, 7.0, 8.0}}});
  CHECK(phi3("")["original_max_position_embeddings"] == 16);
  CHECK(phi3(R"(, "attention_factor": 1.25)")["rope_scaling"]["attention_factor"] == 1.25);
}

}  // namespace config_keys_test
