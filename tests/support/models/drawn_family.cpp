#include "support/models/drawn_family.h"
#include "formats/word_list.h"
#include "support/test.h"

namespace headlight::test {

namespace {

using nlohmann::json;

constexpr std::string_view kTypes =
    "gpt2 gpt_neo gpt_neox llama mistral qwen2 qwen3 gemma3_text phi3 stablelm starcoder2 phi "
    "gemma granite smollm3 arcee ernie4_5 helium seed_oss opt olmo olmo2 olmo3 exaone4 gemma2 "
    "nanochat "
    "bert vaultgemma";
constexpr std::string_view kLearnedPositions = "gpt2 gpt_neo opt bert";
constexpr std::string_view kPartialHeads = "gpt_neox phi stablelm phi3";
constexpr std::string_view kOwnWidthOnly = "gpt2 gpt_neo gpt_neox opt bert stablelm";
constexpr std::string_view kLayerTypes =
    "mistral qwen2 qwen3 smollm3 exaone4 gemma2 gemma3_text olmo3 vaultgemma";
constexpr std::string_view kLayerRopes = "gemma3_text olmo3";

// Values of a key that some families have. "absent" leaves the key out.
struct FamilyKey {
  std::string_view types;
  std::string_view key;
  std::string_view values;
};

constexpr std::string_view kBooleans = R"([true, false, "absent"])";
constexpr FamilyKey kRows[] = {
    {"llama qwen3 gemma gemma2 gemma3_text granite smollm3 arcee helium seed_oss olmo olmo2 olmo3 "
     "nanochat gpt_neox vaultgemma",
     "attention_bias", kBooleans},
    {"llama granite smollm3 arcee helium seed_oss", "mlp_bias", kBooleans},
    {"seed_oss", "attention_out_bias", kBooleans},
    {"starcoder2 ernie4_5", "use_bias", kBooleans},
    {"stablelm", "use_qkv_bias", kBooleans},
    {"stablelm gpt_neox", "use_parallel_residual", kBooleans},
    {"phi", "qk_layernorm", kBooleans},
    {"olmo", "clip_qkv", R"([null, 0.5, "absent"])"},
    {"gemma2 vaultgemma", "attn_logit_softcapping", R"([null, 0.8, "absent"])"},
    {"gemma2 nanochat vaultgemma", "final_logit_softcapping", R"([null, 1.5, "absent"])"},
    {"gemma2 gemma3_text vaultgemma", "query_pre_attn_scalar", R"([7, 40, "absent"])"},
    {"granite", "embedding_multiplier", R"([1, 12, "absent"])"},
    {"granite", "residual_multiplier", R"([0.25, 1.5, "absent"])"},
    {"granite", "attention_multiplier", R"([0.1, 0.5, "absent"])"},
    {"granite", "logits_scaling", R"([8, 0.7, "absent"])"},
    {"phi3 starcoder2", "sliding_window", R"([null, 3, "absent"])"},
    {"llama mistral granite exaone4 smollm3", "hidden_act", R"(["silu", "gelu", "relu2"])"},
    {"gpt2 gpt_neo opt", "activation_function", R"(["gelu_new", "relu", "gelu", "absent"])"},
    {"gpt2 gpt_neo gpt_neox opt bert llama stablelm", "is_causal", R"(["usual", "absent"])"},
    {"gemma gemma2 gemma3_text", "use_bidirectional_attention", R"([null, false, "absent"])"},
    {"bert", "type_vocab_size", "[1, 2]"}};

class Draw {
 public:
  Draw(std::string_view type, int number)
      : type_(type), random_(static_cast<std::mt19937::result_type>(number)) {}

  json config() {
    set_sizes();
    for (const FamilyKey& row : kRows) {
      const json value = one_of(json::parse(row.values));
      if (has_word(row.types, type_) && value != "absent") {
        json_[std::string(row.key)] = value == "usual" ? json(type_ != "bert") : value;
      }
    }
    if (has_word(kLayerTypes, type_)) {
      set_layer_types();
    }
    if (!has_word(kLearnedPositions, type_)) {
      has_word(kLayerRopes, type_) ? set_layer_ropes() : set_rope();
    }
    return json_;
  }

 private:
  json one_of(const json& values) { return values.at(random_() % values.size()); }
  bool is_so() { return random_() % 2 == 0; }

  void set_sizes() {
    heads_ = one_of({1, 2, 4, 6});
    width_ = has_word(kPartialHeads, type_) ? 8 : one_of({4, 6}).get<int>();
    layers_ = one_of({1, 2, 3});
    const int hidden = heads_ * width_;
    const json inner = one_of({7, 24});
    json_ = {{"model_type", type_}, {"vocab_size", 11}, {"tie_word_embeddings", is_so()}};
    if (type_ == "gpt2") {
      const bool is_alias = is_so();
      json_.update({{is_alias ? "max_position_embeddings" : "n_positions", 12},
                    {is_alias ? "hidden_size" : "n_embd", hidden},
                    {is_alias ? "num_hidden_layers" : "n_layer", layers_},
                    {is_alias ? "num_attention_heads" : "n_head", heads_},
                    {"n_inner", is_so() ? inner : json()}});
      return;
    }
    json_.update({{"max_position_embeddings", 12}, {"hidden_size", hidden}});
    if (type_ == "gpt_neo") {
      set_neo_layers();
      return;
    }
    json_.update({{"num_hidden_layers", layers_}, {"num_attention_heads", heads_}});
    json_[type_ == "opt" ? "ffn_dim" : "intermediate_size"] = inner;
    set_heads();
  }

  void set_heads() {
    const bool is_free = !has_word(kOwnWidthOnly, type_);
    if (is_free || type_ == "stablelm") {
      json_["num_key_value_heads"] = is_so() || heads_ == 1 ? heads_ : heads_ / 2;
    }
    if (is_free &&
        (is_so() ||
         has_word("gemma gemma2 gemma3_text vaultgemma qwen3 helium ernie4_5 seed_oss", type_))) {
      width_ = is_so() ? width_ : 2 * width_;
      json_["head_dim"] = width_;
      const bool is_even = is_so();  // the number of heads divides the width
      json_["hidden_size"] = type_ == "helium" ? json(heads_ * width_)
                             : is_even         ? json_["hidden_size"]
                                               : json(10);
    }
  }

  void set_neo_layers() {
    json kinds;
    for (int layer = 0; layer < layers_; ++layer) {
      kinds.push_back(is_so() ? "global" : "local");
    }
    json_.update({{is_so() ? "num_layers" : "num_hidden_layers", layers_},
                  {is_so() ? "num_heads" : "num_attention_heads", heads_},
                  {"intermediate_size", is_so() ? json() : json(7)},
                  {"window_size", 3},
                  {"attention_types", {{kinds, 1}}}});
    if (is_so()) {
      json_["attention_layers"] = json(json::array_t(static_cast<std::size_t>(layers_), "local"));
    }
  }

  void set_layer_types() {
    json types;
    for (int layer = 0; layer < layers_; ++layer) {
      types.push_back(is_so() ? "sliding_attention" : "full_attention");
    }
    json_.update({{"sliding_window", 3}, {"layer_types", types}});
    if (has_word("qwen2 qwen3 smollm3", type_)) {
      json_["use_sliding_window"] = true;
    }
    if (type_ == "smollm3") {
      for (int layer = 0; layer < layers_; ++layer) {
        json_["no_rope_layers"].push_back(is_so() ? 1 : 0);
      }
    }
  }

  // Returns parameters of a rotation in the words of transformers 5.
  json rope_parameters(double theta) {
    json parameters = one_of(json::parse(R"([
        {"rope_type": "default"},
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 6},
        {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 6}])"));
    parameters["rope_theta"] = theta;
    return parameters;
  }

  void set_layer_ropes() {
    const bool is_gemma = type_ == "gemma3_text";
    const double local = is_gemma ? 10 : 50;
    json whole = rope_parameters(50);
    if (is_so()) {
      json_["rope_parameters"] = {
          {"full_attention", whole},
          {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", local}}}};
    } else if (is_gemma) {
      whole.erase("rope_theta");
      json_.update(
          {{"rope_theta", 50.0}, {"rope_local_base_freq", local}, {"rope_scaling", whole}});
    }
  }

  void set_rope() {
    json parameters = type_ == "phi3" ? phi3_parameters() : rope_parameters(50);
    if (has_word(kPartialHeads, type_) && type_ != "phi3" && is_so()) {
      parameters["partial_rotary_factor"] = 0.5;
    }
    switch (random_() % 4) {
      case 0:
        json_["rope_parameters"] = parameters;
        break;
      case 1:
        json_.update({{"rope_parameters", parameters}, {"rope_scaling", json::object()}});
        break;
      case 2:
        json_.update({{"rope_parameters", parameters}, {"rope_scaling", nullptr}});
        break;
      default:
        parameters.erase("rope_theta");
        json_[type_ == "gpt_neox" ? "rotary_emb_base" : "rope_theta"] = 50.0;
        json_["rope_scaling"] = parameters;
    }
  }

  json phi3_parameters() {
    if (is_so() || json_.contains("head_dim")) {
      return {{"rope_type", "default"}, {"rope_theta", 50.0}};
    }
    json_["original_max_position_embeddings"] = 6;
    const auto pairs = static_cast<std::size_t>(width_) / 2;
    return {{"rope_type", "longrope"},
            {"rope_theta", 50.0},
            {"short_factor", json::array_t(pairs, 1.5)},
            {"long_factor", json::array_t(pairs, 4.0)}};
  }

  std::string_view type_;
  std::mt19937 random_;
  int heads_ = 1;
  int width_ = 4;  // of a head
  int layers_ = 1;
  json json_ = {};
};

}  // namespace

std::vector<std::string_view> family_types() { return words_of(kTypes); }

std::string drawn_family_config(std::string_view type, int number) {
  return Draw(type, number).config().dump();
}

}  // namespace headlight::test
