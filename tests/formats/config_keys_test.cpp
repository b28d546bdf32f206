#include "formats/families/families.h"
#include "formats/word_list.h"
#include "support/models/drawn_family.h"
#include "support/rows.h"
#include "support/test.h"

// Keys of config.json that change the numbers are used or refused, at any value.

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

TEST_CASE("keys of config.json that Headlight cannot obey are refused by name") {
  check_rows("formats/config_keys.txt", [](const Row& row) {
    std::set<std::string> answers;
    for (const std::string_view type : words_of(row.group)) {
      answers.insert(error_behind("config.json: ", [&] { config_of(type, row.given); }));
    }
    CHECK(answers.size() == 1);  // of all families of the group
    return *answers.begin();
  });
}

TEST_CASE("keys missing from config.json get the defaults of transformers") {
  check_rows("formats/family_defaults.txt", [](const Row& row) {
    const GptConfig config = config_of(row.given, R"("use_cache": true)");
    const AttentionPlan first = block_plan(config, 0).attention;
    const RopeOptions rope = first.rope.value_or(RopeOptions{.theta = 0});
    const Index turned = rope.theta == 0 ? 0 : rope.width > 0 ? rope.width : first.head_width;
    const auto window = [&](Index layer) { return block_plan(config, layer).attention.window; };
    return concat_text("vocabulary ", config.vocab_size, ", context ", config.block_size,
                       ", width ", config.n_embd, ", inner ",
                       block_plan(config, 0).mlp_width.value(), ", ", config.n_layer, " layers, ",
                       config.n_head, " heads and ", first.key_heads, " key heads of ",
                       first.head_width, ", epsilon ", config.layer_norm_epsilon, ", ",
                       name_of(config.activation), config.tie_weights ? ", tied" : ", untied",
                       ", dropout ", config.attention_dropout, ", theta ", rope.theta, " for ",
                       turned, " elements, windows ", window(0), " ", window(1), " ", window(5));
  });
}

TEST_CASE("an activation is found by every name that transformers has for it") {
  const std::map<Activation, std::string> names{
      {Activation::gelu_tanh,
       "gelu_new gelu_pytorch_tanh gelu_fast gelu_accurate gelu_python_tanh"},
      {Activation::gelu_erf, "gelu gelu_python"},
      {Activation::silu, "silu swish"},
      {Activation::relu, "relu"},
      {Activation::relu2, "relu2"}};
  for (const auto& [activation, all] : names) {
    for (const std::string_view name : words_of(all)) {
      CHECK(config_of("gpt2", concat_text(R"("activation_function": ")", name, "\"")).activation ==
            activation);
    }
  }
}

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
}

TEST_CASE("missing soft caps and scales get the defaults of transformers") {
  const GptConfig gemma = config_of("gemma2", R"("query_pre_attn_scalar": 144)");
  CHECK(gemma.attention_cap == 50);
  CHECK(gemma.logit_cap == 30);
  CHECK(gemma.attention_scale == Approx(1.0 / 12));
  const GptConfig plain = config_of("gemma2", R"("attn_logit_softcapping": null,
                                    "final_logit_softcapping": null)");
  CHECK(plain.attention_cap == 0);
  CHECK(plain.logit_cap == 0);
  CHECK(config_of("nanochat", R"("use_cache": true)").logit_cap == 15);
  CHECK(config_of("olmo", R"("use_cache": true)").qkv_clip == 0);
  const GptConfig phi = config_of("phi3", R"("num_attention_heads": 768,
      "max_position_embeddings": 65536, "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4]})");
  CHECK(phi.rope.original_max_position_embeddings == 4096);
  CHECK(phi.rope.attention_factor == Approx(std::sqrt(1 + std::log(16.0) / std::log(4096.0))));
  const GptConfig exaone = config_of("exaone4", R"("num_hidden_layers": 4)");
  CHECK(exaone.rope_per_layer == std::vector<Index>{1, 1, 1, 0});
}

TEST_CASE(
    "ignored keys of config.json are named unless they have no effect in transformers either") {
  const auto unread = [](const std::string& keys) {
    return parse_model_config(R"({"model_type": "llama", )" + keys + "}", "config.json").unread;
  };
  CHECK(unread(R"("_name_or_path": "x", "torch_dtype": "bfloat16", "transformers_version": "5",
                  "pretraining_tp": 1, "use_cache": true, "rope_scaling": null)")
            .empty());
  CHECK(unread(R"("use_mrope": false, "new": null, "list": [], "text": "")").empty());
  CHECK(unread(R"("residual_multiplier": 0.22, "vocab_size": 9, "new": {"a": 1})") ==
        std::vector<std::string>{"residual_multiplier", "new"});
}

TEST_CASE("null is the usual value of some keys, and not that of a missing key") {
  CHECK(config_of("llama", R"("rope_scaling": {"rope_type": "llama3", "factor": 8})")
            .rope.original_max_position_embeddings == 2048);  // the context length
  CHECK(config_of("qwen3", R"("num_key_value_heads": null)").n_kv_head == 0);
  CHECK(config_of("ernie4_5", R"("head_dim": null, "use_bias": null)").elements_of_head() == 64);
  CHECK(config_of("gpt2", R"("n_inner": null)").n_inner == 0);
  CHECK(config_of("mistral", R"("sliding_window": null)").windows.empty());
  const auto window = [](const std::string& keys) {
    return block_plan(config_of("qwen2", R"("use_sliding_window": true)" + keys), 31)
        .attention.window;
  };
  CHECK(window("") == 4096);
  CHECK(window(R"(, "sliding_window": null)") == 0);
  CHECK(config_of("olmo", R"("clip_qkv": null)").qkv_clip == 0);
  CHECK(config_of("opt", R"("word_embed_proj_dim": null)").n_embd == 768);
  const RopeOptions rope =
      config_of("llama", R"("max_position_embeddings": 48, "rope_scaling": {"rope_type": "yarn",
          "factor": null, "original_max_position_embeddings": 16, "beta_fast": null,
          "beta_slow": null, "mscale": null, "attention_factor": null})")
          .rope;
  CHECK(rope.factor == 3);  // 48 / 16
  CHECK(rope.beta_fast == 32);
  CHECK(rope.beta_slow == 1);
  CHECK(rope.attention_factor == Approx(1 + 0.1 * std::log(3.0)));
}

TEST_CASE("GPT-2 and GPT-Neo have other names for their sizes, which have priority") {
  const GptConfig gpt2 = config_of("gpt2", R"("hidden_size": 12, "num_attention_heads": 3,
      "n_head": 12, "num_hidden_layers": 2, "max_position_embeddings": 5)");
  CHECK(gpt2.n_embd == 12);
  CHECK(gpt2.n_head == 3);
  CHECK(gpt2.n_layer == 2);
  CHECK(gpt2.block_size == 5);
  const GptConfig neo = config_of("gpt_neo", R"("num_attention_heads": 4, "num_hidden_layers": 2,
                              "attention_types": [[["global", "local"], 1]])");
  CHECK(neo.n_head == 4);
  CHECK(neo.windows == std::vector<Index>{0, 256});
}

TEST_CASE("GPT-Neo's attention_layers have priority over attention_types") {
  const std::string types = R"("num_layers": 2, "attention_types": [[["global", "local"], 1]])";
  CHECK(config_of("gpt_neo", types + R"(, "attention_layers": ["local", "global"])").windows ==
        std::vector<Index>{256, 0});
}

TEST_CASE("Mistral's layer_types are Ministral's: layers with and without a window") {
  const std::string two = R"("num_hidden_layers": 2, "sliding_window": 9, )";
  CHECK(config_of("mistral", two + R"("layer_types": null)").windows == std::vector<Index>{9, 9});
  CHECK(config_of("mistral", two + R"("layer_types": ["full_attention", "sliding_attention"])")
            .windows == std::vector<Index>{0, 9});
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

TEST_CASE("rotations for types of layers count as in transformers") {
  CHECK(config_of("gemma3_text",
                  concat_text(R"("rope_parameters": {"full_attention": {)", kRope, "}}"))
            .rope.theta == 7);
  CHECK_FALSE(config_of("olmo3", R"("rope_parameters": {"truncate": false, "full_attention":
      {"rope_type": "yarn", "rope_theta": 500000, "factor": 2, "truncate": false}})")
                  .rope.truncate);
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
