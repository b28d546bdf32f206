#include "headlight/formats/gguf/gguf_model.h"
#include "formats/families/families.h"
#include "formats/gguf/gguf_rows.h"
#include "formats/token_settings.h"
#include "support/models/drawn_config.h"
#include "support/rows.h"
#include "support/test.h"

namespace gguf_gguf_model_test {
// Models in GGUF files: written, opened again, and damaged.

constexpr Index kVocabulary = 259;  // two ids more than the byte tokenizer has

// A configuration of a family, with small sizes and the keys in `text`.
GptConfig config_of(const std::string& text) {
  json config{{"vocab_size", kVocabulary}, {"max_position_embeddings", 12},
              {"num_hidden_layers", 2},    {"num_attention_heads", 4},
              {"num_key_value_heads", 2},  {"hidden_size", 32},
              {"intermediate_size", 48},   {"rms_norm_eps", 1e-6}};
  config.update(json::parse("{" + text + "}"));
  return parse_model_config(config.dump(), "config.json").config;
}

GptConfig llama_config() { return config_of(R"("model_type": "llama")"); }
GptConfig gpt2_config() { return config_of(R"("model_type": "gpt2")"); }

std::unique_ptr<Gpt> model_of(const GptConfig& config) {
  auto model = std::make_unique<Gpt>(config, 7);
  spread_weights(*model);
  return model;
}

std::vector<double> logits_of(const Gpt& model) {
  const Ids tokens{7, 1, 200, 258, 0, 0, 31, 90, 5};
  return model.logits(make_batch({tokens})).detach().to_vector();
}

std::string text_under(const GgufFile& file, const std::string& key) {
  return std::get<std::string>(*file.find_value(key));
}

// The contents of a file, to be changed and written again.
struct Contents {
  explicit Contents(const fs::path& path) {
    const GgufFile file(path);
    metadata = file.metadata();
    for (const GgufTensor& tensor : file.tensors()) {
      tensors.push_back({tensor.name, file.read(tensor), tensor.type});
    }
  }
  GgufMetadata metadata;
  std::vector<GgufSource> tensors;
};

// Returns the error for a small Llama after a change of its file's contents.
template <class Change>
std::string error_after(const Change& change) {
  const TemporaryFolder folder;
  const fs::path path = folder / "bad.gguf";
  write_gguf_model(path, *model_of(llama_config()), ByteTokenizer());
  Contents contents(path);
  change(contents);
  write_gguf(path, contents.metadata, contents.tensors);
  const std::string error = error_of([&] { load_model(path); });
  CAPTURE(error);
  CHECK(error.starts_with(path.string() + ": "));
  CHECK_FALSE(contains(error, "\n"));
  CHECK(error_of([&] { read_effective_config(path); }) != "");
  return error.substr(path.string().size() + 2);
}

void check_round_trip(const GptConfig& config, const std::string& architecture) {
  const TemporaryFolder folder;
  const std::unique_ptr<Gpt> model = model_of(config);
  const fs::path path = folder / "model.gguf";
  write_gguf_model(path, *model, ByteTokenizer(), {.name = "a name"});
  CHECK(text_under(GgufFile(path), "general.architecture") == architecture);
  CHECK(text_under(GgufFile(path), "general.name") == "a name");
  const LoadedModel loaded = load_model(path);
  CHECK(loaded.tokenizer->encode("ab") == ByteTokenizer().encode("ab"));
  CHECK(loaded.tokenizer->end_of_text() == ByteTokenizer().end_of_text());
  const std::vector<double> expected = logits_of(*model);
  const std::vector<double> logits = logits_of(*loaded.model);
  if (architecture.starts_with("gemma")) {  // gains are stored as 1 + w
    CHECK_THAT(logits, Catch::Matchers::Approx(expected).margin(1e-4));
  } else {
    CHECK(logits == expected);
  }
  const GptConfig read = loaded.model->config();
  CHECK(read.rope == config.canonical().rope);
  CHECK(read.layer_norm_epsilon == config.layer_norm_epsilon);
  CHECK(read.tie_weights == config.tie_weights);
  CHECK(read.windows == config.windows);
  CHECK(read.bias == config.canonical().bias);
  CHECK(read.parallel_residual == config.parallel_residual);
  CHECK(loaded.model->parameters().size() == model->parameters().size());
}

TEST_CASE("a model of every architecture is written as GGUF and read back bit for bit") {
  check_rows("formats/gguf/architectures.txt", [](const Row& row) {
    check_round_trip(config_of(row.given), row.expected);
    return row.expected;
  });
  GptConfig without_biases = gpt2_config();
  without_biases.bias = false;
  check_round_trip(without_biases, "gpt2");
}

TEST_CASE("the rows of Llama's queries and keys are interleaved in GGUF") {
  const TemporaryFolder folder;
  const GptConfig config = llama_config();
  const std::unique_ptr<Gpt> model = model_of(config);
  write_gguf_model(folder / "a.gguf", *model, ByteTokenizer());
  const GgufFile file(folder / "a.gguf");
  const Tensor ours = model->parameters()[2].second;  // h.0.attn.c_attn.weight [(H + 2 G) D, C]
  REQUIRE(ours.shape() == Shape{64, 32});
  const auto row = [&](const std::string& name, Index number) {
    return file.read_rows(*file.find_tensor(name), number, 1).to_vector();
  };
  const auto our_row = [&](Index number) {
    return ours.strided_view({1, 32}, ours.strides(), 32 * number).to_vector();
  };
  // Query head 1 begins at row 8 and has the pairs (8, 12), (9, 13) and so on.
  CHECK(row("blk.0.attn_q.weight", 8) == our_row(8));
  CHECK(row("blk.0.attn_q.weight", 9) == our_row(12));
  CHECK(row("blk.0.attn_q.weight", 10) == our_row(9));
  CHECK(row("blk.0.attn_k.weight", 1) == our_row(32 + 4));
  CHECK(row("blk.0.attn_v.weight", 1) == our_row(48 + 1));
}

TEST_CASE("only matrices get smaller types and those without whole blocks get float16") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  GptConfig config = llama_config();
  config.n_inner = 40;
  const std::unique_ptr<Gpt> model = model_of(config);
  for (const GgufType type : {GgufType::f16, GgufType::bf16, GgufType::q8_0}) {
    const std::vector<std::string> warnings =
        write_gguf_model(path, *model, ByteTokenizer(), {.type = type});
    const GgufFile file(path);
    for (const GgufTensor& tensor : file.tensors()) {
      CAPTURE(tensor.name);
      const bool whole = type != GgufType::q8_0 || !tensor.name.ends_with("ffn_down.weight");
      CHECK(tensor.type == (tensor.shape.rank() == 1 ? GgufType::f32
                            : whole                  ? type
                                                     : GgufType::f16));
    }
    REQUIRE(warnings.size() == (type == GgufType::q8_0 ? 1 : 0));
    if (type == GgufType::q8_0) {
      CHECK(contains(warnings[0], "2 matrices, 'blk.0.ffn_down.weight' first, are written as F16"));
    }
    CHECK(load_model(path, DType::float64).model->dtype() == DType::float64);
  }
  write_gguf_model(path, *model_of(gpt2_config()), ByteTokenizer(), {.type = GgufType::f16});
  CHECK(GgufFile(path).find_tensor("position_embd.weight")->type == GgufType::f32);
}

TEST_CASE("the matrix of logits has at least the bits of Q6_K") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  const auto warnings_of = [&](const GptConfig& config, GgufType type) {
    return write_gguf_model(path, *model_of(config), ByteTokenizer(), {.type = type});
  };
  const auto type_of = [&](const std::string& name) {
    return GgufFile(path).find_tensor(name)->type;
  };
  GptConfig config = llama_config();  // 32 columns are less than a block of Q6_K
  CHECK(mentions(warnings_of(config, GgufType::q4_0).back(),
                 {"1 matrices", "'output.weight'", "Q8_0", "Q6_K"}));
  CHECK(type_of("output.weight") == GgufType::q8_0);
  CHECK(type_of("token_embd.weight") == GgufType::q4_0);
  config.n_embd = 256;
  warnings_of(config, GgufType::q4_k);
  CHECK(type_of("output.weight") == GgufType::q6_k);
  CHECK(type_of("token_embd.weight") == GgufType::q4_k);
  config.tie_weights = true;
  warnings_of(config, GgufType::q4_k);
  CHECK(type_of("token_embd.weight") == GgufType::q6_k);
  CHECK(type_of("blk.0.attn_q.weight") == GgufType::q4_k);
}

// The types of SmolLM2-135M's matrices after llama-quantize: Q4_K_S, Q5_K_S and Q6_K.
TEST_CASE("matrices have the types that llama-quantize chooses") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  GptConfig config = llama_config();
  config.n_layer = 8;
  config.n_inner = 256;
  const std::unique_ptr<Gpt> model = model_of(config);
  const auto type_of = [&](const std::string& name) {
    return GgufFile(path).find_tensor(name)->type;
  };
  write_gguf_model(path, *model, ByteTokenizer(), {.type = GgufType::q4_k});
  CHECK(type_of("token_embd.weight") == GgufType::q5_0);  // not of the logits
  CHECK(type_of("output.weight") == GgufType::q8_0);
  CHECK(type_of("blk.3.attn_v.weight") == GgufType::q5_1);
  CHECK(type_of("blk.4.attn_v.weight") == GgufType::q5_0);
  CHECK(type_of("blk.0.attn_k.weight") == GgufType::q5_0);
  CHECK(type_of("blk.0.ffn_down.weight") == GgufType::q5_k);
  CHECK(type_of("blk.1.ffn_down.weight") == GgufType::q4_k);
  write_gguf_model(path, *model, ByteTokenizer(), {.type = GgufType::q5_k});
  CHECK(type_of("blk.0.attn_v.weight") == GgufType::q5_1);
  CHECK(type_of("blk.0.ffn_down.weight") == GgufType::q5_k);
  write_gguf_model(path, *model, ByteTokenizer(), {.type = GgufType::q6_k});
  CHECK(type_of("blk.0.attn_v.weight") == GgufType::q8_0);
  CHECK(type_of("blk.0.ffn_down.weight") == GgufType::q6_k);
}

TEST_CASE("a character tokenizer is kept in GGUF and gets merges for llama.cpp") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  const CharTokenizer tokenizer = build_char_tokenizer("aé고b");
  GptConfig config = gpt2_config();
  config.vocab_size = tokenizer.vocab_size() + 1;
  write_gguf_model(path, *model_of(config), tokenizer);
  const GgufFile file(path);
  const auto list = [&](const std::string& key) {
    return std::get<std::vector<std::string>>(std::get<GgufArray>(*file.find_value(key)));
  };
  CHECK(list("tokenizer.ggml.merges").size() == 3);
  CHECK(list("tokenizer.ggml.tokens").back() ==
        "[PAD" + std::to_string(config.vocab_size - 1) + "]");
  const LoadedModel loaded = load_model(path);
  CHECK(loaded.tokenizer->kind() == "char");
  CHECK(to_tokenizer_json(*loaded.tokenizer) == to_tokenizer_json(tokenizer));
}

// Writes three parts as llama-gguf-split does: metadata and two tensors, most others, the last two.
void write_parts(const TemporaryFolder& folder) {
  write_gguf_model(folder / "whole.gguf", *model_of(llama_config()), ByteTokenizer());
  const Contents contents(folder / "whole.gguf");
  const std::vector<std::size_t> ends{0, 2, contents.tensors.size() - 2, contents.tensors.size()};
  for (std::size_t part = 0; part < 3; ++part) {
    GgufMetadata metadata = part == 0 ? contents.metadata : GgufMetadata{};
    metadata.emplace_back("split.no", static_cast<std::uint16_t>(part));
    metadata.emplace_back("split.count", std::uint16_t{3});
    const auto* tensors = contents.tensors.data();
    write_gguf(folder / ("m-0000" + std::to_string(part + 1) + "-of-00003.gguf"), metadata,
               {tensors + ends[part], tensors + ends[part + 1]});
  }
}

TEST_CASE("a model in several GGUF files is read from the first of them") {
  const TemporaryFolder folder;
  write_parts(folder);
  const auto whole = load_model(folder / "whole.gguf");
  const auto parts = load_model(folder / "m-00001-of-00003.gguf");
  CHECK(logits_of(*parts.model) == logits_of(*whole.model));
  CHECK(to_tokenizer_json(*parts.tokenizer) == to_tokenizer_json(*whole.tokenizer));
}

TEST_CASE("parts of a GGUF model that are missing or mixed up are refused by name") {
  const TemporaryFolder folder;
  write_parts(folder);
  const auto part = [&](int number) {
    return folder / ("m-0000" + std::to_string(number) + "-of-00003.gguf");
  };
  const auto refusal = [&](const fs::path& path) { return error_of([&] { GgufFile{path}; }); };
  CHECK(refusal(part(1)) == "no error");
  CHECK(refusal(part(2)) == part(2).string() +
                                ": is file 2 of 3 of a split model; give the first, " +
                                part(1).string());
  fs::copy(part(1), folder / "m.gguf");
  CHECK(refusal(folder / "m.gguf") ==
        (folder / "m.gguf").string() +
            ": is file 1 of 3 of a split model; expected a name that ends in -00001-of-00003.gguf");
  fs::rename(part(3), folder / "kept");
  CHECK(refusal(part(1)) == part(3).string() + ": part 3 of 3 is missing");
  fs::copy(part(2), part(3));
  CHECK(refusal(part(1)) == part(3).string() + ": expected part 3 of 3, got part 2 of 3");
  Contents contents(folder / "whole.gguf");
  set_key(contents.metadata, "split.no", std::uint16_t{2});
  set_key(contents.metadata, "split.count", std::uint16_t{3});
  write_gguf(part(3), contents.metadata, contents.tensors);
  CHECK(contains(refusal(part(1)), "is in another part as well"));
  set_key(contents.metadata, "split.count", std::uint16_t{2000});
  write_gguf(part(1), contents.metadata, {});
  CHECK(refusal(part(1)) ==
        part(1).string() + ": split.count: 2000 parts, at most 1024 are accepted");
  set_key(contents.metadata, "split.count", std::uint32_t{3});
  write_gguf(part(1), contents.metadata, {});
  CHECK(refusal(part(1)) == part(1).string() + ": split.count: expected a uint16");
}

TEST_CASE("models that llama.cpp does not compute are refused by name") {
  const auto refused = [](GptConfig config) {
    return error_of([&] { require_gguf_model(config.canonical()); });
  };
  constexpr const char* kGemma3 = R"("model_type": "gemma3_text", "num_hidden_layers": 7,
      "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 3)";
  GptConfig config = gpt2_config();
  config.windows = {3, 0};
  CHECK(refused(config) == "gguf: windows = 3,0 cannot be expressed: gpt2 has 0,0");
  config.windows = {12, 0};  // as long as the context
  CHECK(refused(config) == "no error");
  config.activation = Activation::relu;
  CHECK(
      refused(config) ==
      "gguf: activation = relu cannot be expressed: gpt2 of llama.cpp has gelu_new; --to hf writes "
      "gpt2");
  config = gpt2_config();
  config.attention_scale = 1;
  config.qkv_bias = false;
  config.windows = {0, 3};
  CHECK(refused(config) ==
        "gguf: windows = 0,3 cannot be expressed: gpt2 has 0,0; --to hf writes gpt_neo");
  config = config_of(kGemma3);
  config.windows = {3, 0, 3, 0, 3, 0, 3};
  CHECK(contains(refused(config), "gguf: windows = 3,0,3,0,3,0,3 cannot be expressed: gemma3 of"));
  config = config_of(R"("model_type": "qwen3")");
  config.rope.scaling = RopeScaling::llama3;
  CHECK(contains(refused(config),
                 "gguf: rope_scaling = llama3 cannot be expressed: qwen3 of llama.cpp has none"));
  config = llama_config();
  config.attention_scale = 0.5;
  CHECK(contains(refused(config), "gguf: attention_scale = 0.5 cannot be expressed: llama has"));
}

TEST_CASE("invalid metadata of a GGUF model is refused with its key") {
  check_rows("formats/gguf/metadata.txt", [](const Row& row) {
    return error_after([&](Contents& contents) {
      contents.metadata = changed_metadata(contents.metadata, "", row.given);
    });
  });
  CHECK(error_after([](Contents& contents) {
          set_key(contents.metadata, "llama.rope.freq_base", std::nanf(""));
        }) == "llama.rope.freq_base: expected a number above 0 and at most 1e12, got nan");
}

TEST_CASE("GGUF keys without effect and lists of one repeated number are accepted") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  const std::unique_ptr<Gpt> model = model_of(llama_config());
  write_gguf_model(path, *model, ByteTokenizer());
  Contents contents(path);
  set_key(contents.metadata, "llama.expert_count", std::uint32_t{0});
  set_key(contents.metadata, "llama.tensor_data_layout", std::string("Meta AI original pth"));
  set_key(contents.metadata, "llama.attention.sliding_window", std::uint32_t{12});
  set_key(contents.metadata, "llama.attention.head_count_kv", GgufArray(Ids{2, 2}));
  drop_key(contents.metadata, "llama.rope.freq_base");
  drop_key(contents.metadata, "llama.attention.key_length");
  contents.tensors.push_back({"rope_freqs.weight", Tensor::ones({4})});
  write_gguf(path, contents.metadata, contents.tensors);
  CHECK(logits_of(*load_model(path).model) == logits_of(*model));
}

TEST_CASE("general keys of a GGUF file stay in GGUF and a folder that drops them names them") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  const GgufMetadata general{{"general.name", std::string("Tiny")},
                             {"general.license", std::string("mit")},
                             {"general.tags", GgufArray(std::vector<std::string>{"tiny"})}};
  write_gguf_model(path, *model_of(llama_config()), ByteTokenizer(),
                   {.name = "a", .general = general});
  const GgufFile file(path);
  for (const auto& [key, value] : general) {
    INFO(key);
    REQUIRE(file.find_value(key) != nullptr);
    CHECK(*file.find_value(key) == value);
  }
  CHECK(std::get<std::string>(*file.find_value("general.type")) == "model");
  CHECK(dropped_settings(path, *load_model(path).tokenizer) ==
        "not kept: a.gguf: general.license, general.tags");
}

TEST_CASE("factors of rotary embeddings that are not Llama 3's are refused") {
  const auto with_factors = [](std::vector<float> factors) {
    return error_after([&](Contents& contents) {
      contents.tensors.push_back(
          {"rope_freqs.weight", Tensor::from(factors, {std::ssize(factors)})});
    });
  };
  CHECK(contains(with_factors({1, 2, 3, 4}), "rope_freqs.weight: expected the factors of Llama 3"));
  CHECK(contains(with_factors({1, 1, 1}), "rope_freqs.weight: expected shape [4], got [3]"));
  CHECK(
      contains(with_factors({1, 1, 1, std::nanf("")}), "rope_freqs.weight: expected the factors"));
}
}  // namespace gguf_gguf_model_test
