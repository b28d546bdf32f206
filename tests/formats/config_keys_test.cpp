#include "formats/families/families.h"
#include "support/drawn_family.h"
#include "support/test.h"

namespace config_keys_test {
// Keys of config.json that change the numbers are used or refused, at any value.

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

TEST_CASE("keys that every family of transformers reads are obeyed or refused") {
  for (const std::string_view type : family_types()) {
    INFO(type);
    const bool causal = type != "bert";
    const std::string usual = causal ? "true" : "false";
    CHECK(error_with(type, R"("is_causal": )" + usual) == "no error");
    CHECK(error_with(type, concat_text(R"("is_causal": )", causal ? "false" : "true")) ==
          "config.json: is_causal: only " + usual + " is supported");
    CHECK(error_with(type, R"("is_causal": 0)") ==
          "config.json: is_causal: expected true or false");
    CHECK(error_with(type, R"("per_layer_config": {"0": {"num_attention_heads": 1}})") ==
          "config.json: per_layer_config: layers of different kinds are not supported");
    CHECK(error_with(type, R"("pruned_heads": {"0": [1]})") ==
          "config.json: pruned_heads: heads that config.json removes are not supported");
    CHECK(error_with(type, R"("per_layer_config": {}, "pruned_heads": {},
                              "quantization_config": null)") == "no error");
  }
  // null is not true: transformers would attend to both sides.
  CHECK(error_with("llama", R"("is_causal": null)") ==
        "config.json: is_causal: expected true or false, got null");
}

TEST_CASE("null is refused for numbers and flags, as in transformers 5.24") {
  // A key, families, and the kind of its values.
  struct Row {
    const char* key;
    std::vector<const char*> types;
    const char* kind;
  };
  const std::vector<Row> rows{
      {"vocab_size", {"gpt2", "gpt_neo", "gpt_neox", "llama", "opt", "bert"}, "a whole number"},
      {"hidden_size", {"gpt2", "gpt_neo", "qwen3", "gemma3_text", "bert"}, "a whole number"},
      {"intermediate_size", {"llama", "gpt_neox", "olmo2", "bert"}, "a whole number"},
      {"num_attention_heads", {"gpt2", "gpt_neo", "mistral", "opt"}, "a whole number"},
      {"num_key_value_heads",
       {"mistral", "stablelm", "starcoder2", "gemma", "gemma2", "gemma3_text", "helium", "exaone4"},
       "a whole number"},
      {"head_dim",
       {"qwen2", "qwen3", "phi3", "phi", "gemma", "gemma2", "gemma3_text", "granite", "smollm3",
        "helium", "olmo", "olmo2", "olmo3", "exaone4", "nanochat"},
       "a whole number"},
      {"max_window_layers", {"qwen2", "qwen3"}, "a whole number"},
      {"window_size", {"gpt_neo"}, "a whole number"},
      {"sliding_window_pattern", {"gemma3_text", "exaone4"}, "a whole number"},
      {"rms_norm_eps", {"llama", "qwen2", "gemma", "olmo3", "exaone4"}, "a number"},
      {"layer_norm_eps", {"gpt_neox", "stablelm", "phi", "bert"}, "a number"},
      {"rope_theta", {"llama", "mistral", "phi3", "helium", "gemma2", "nanochat"}, "a number"},
      {"rotary_emb_base", {"gpt_neox"}, "a number"},
      {"rope_local_base_freq", {"gemma3_text"}, "a number"},
      {"query_pre_attn_scalar", {"gemma2", "gemma3_text"}, "a number"},
      {"embedding_multiplier", {"granite"}, "a number"},
      {"attention_dropout", {"gpt_neox", "mistral", "qwen2", "gemma", "olmo", "opt"}, "a number"},
      {"partial_rotary_factor", {"stablelm", "phi"}, "a number"},
      {"tie_word_embeddings", {"gpt2", "llama", "gpt_neox", "opt", "bert"}, "true or false"},
      {"attention_bias", {"llama", "qwen3", "granite", "olmo2"}, "true or false"},
      {"use_parallel_residual", {"gpt_neox", "stablelm"}, "true or false"},
      {"use_bias", {"starcoder2"}, "true or false"},
      {"use_sliding_window", {"qwen2", "smollm3"}, "true or false"}};
  for (const auto& [key, types, kind] : rows) {
    for (const char* type : types) {
      INFO(type);
      CHECK(error_with(type, concat_text("\"", key, "\": null")) ==
            concat_text("config.json: ", key, ": expected ", kind, ", got null"));
    }
  }
}

TEST_CASE("null is the usual value of some keys") {
  CHECK(config_of("llama", R"("num_key_value_heads": null)").n_kv_head == 0);
  CHECK(config_of("qwen3", R"("num_key_value_heads": null)").n_kv_head == 0);
  CHECK(config_of("ernie4_5", R"("head_dim": null, "use_bias": null)").elements_of_head() == 64);
  CHECK(config_of("gpt2", R"("n_inner": null)").n_inner == 0);
  CHECK(config_of("mistral", R"("sliding_window": null)").windows.empty());
  CHECK(config_of("olmo", R"("clip_qkv": null)").qkv_clip == 0);
  CHECK(config_of("opt", R"("word_embed_proj_dim": null)").n_embd == 768);
  const char* types = R"("num_hidden_layers": 1, "layer_types": ["full_attention"], )";
  for (const char* keys :
       {R"("use_bidirectional_attention": null, "sliding_window_pattern": null)",
        R"("attn_logit_softcapping": null, "attention_dropout": null, "rope_theta": null)"}) {
    CHECK(error_with("gemma3_text", concat_text(types, keys)) == "no error");
  }
  CHECK(error_with("llama", R"("partial_rotary_factor": null, "layer_types": null,
                               "original_max_position_embeddings": null)") == "no error");
}

TEST_CASE("null in a rotation is refused, or has transformers' meaning") {
  const auto yarn = [](const char* keys) {
    return concat_text(R"("max_position_embeddings": 48, "rope_scaling": {"rope_type": "yarn", )",
                       keys, "}");
  };
  const RopeOptions rope =
      config_of("llama", yarn(R"("factor": null, "original_max_position_embeddings": 16,
                                 "beta_fast": null, "beta_slow": null, "mscale": null,
                                 "attention_factor": null)"))
          .rope;
  CHECK(rope.factor == 3);  // 48 / 16
  CHECK(rope.beta_fast == 32);
  CHECK(rope.beta_slow == 1);
  CHECK(rope.attention_factor == Approx(1 + 0.1 * std::log(3.0)));
  for (const char* key : {"rope_theta", "partial_rotary_factor"}) {
    CHECK(error_with("llama", yarn(concat_text(R"("factor": 2, ")", key, "\": null").c_str())) ==
          concat_text("config.json: rope_scaling.", key, ": expected a number, got null"));
  }
  CHECK(error_with("llama", R"("rope_scaling": {"rope_type": null, "factor": 2})") ==
        "config.json: rope_scaling.rope_type: expected a text, got null");
  CHECK(error_with("llama", R"("rope_scaling": {"rope_type": "linear", "factor": null})") ==
        "config.json: rope_scaling.factor: expected a number, got null");
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
  CHECK(yarn("llama", 64, 64) == "no error");
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

TEST_CASE("EXAONE 4 has a letter for each layer, which mlx-lm reads") {
  const auto pattern = [](const std::string& keys) {
    return written(config_of("exaone4", R"("vocab_size": 9, "num_hidden_layers": 5, )" +
                                            keys))["sliding_window_pattern"];
  };
  CHECK(pattern(R"("sliding_window": 9, "sliding_window_pattern": 4)") == "LLLGL");
  CHECK(pattern(R"("sliding_window": null)") == nullptr);
}

TEST_CASE("layers of OLMo 3 with a window keep a theta of their own") {
  const std::string sliding =
      R"("sliding_attention": {"rope_type": "default", "rope_theta": 100.0})";
  const std::string whole = R"("full_attention": {"rope_type": "yarn", "rope_theta": 500.0,
      "factor": 4.0, "original_max_position_embeddings": 64})";
  const GptConfig config =
      config_of("olmo3", R"("vocab_size": 9, "rope_parameters": {)" + whole + ", " + sliding + "}");
  const json parameters = written(config)["rope_parameters"];
  CHECK(parameters["sliding_attention"] == json::parse("{" + sliding + "}")["sliding_attention"]);
  CHECK(parameters["full_attention"]["rope_theta"] == 500.0);
  GptConfig scaled = config;
  scaled.rope_local_theta = 0;  // no layer rotates without the factor
  CHECK(family_for(scaled).type != "olmo3");
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
