#include "headlight/formats/gguf/gguf_model.h"
#include "formats/token_settings.h"
#include "support/drawn_config.h"
#include "support/test.h"

namespace gguf_gguf_model_test {
// Models in GGUF files: written, opened again, and damaged.

constexpr Index kVocabulary = 259;  // two ids more than the byte tokenizer has

// A small configuration that Llama, Qwen and Gemma share.
GptConfig rms_config() {
  GptConfig config{.vocab_size = kVocabulary,
                   .block_size = 12,
                   .n_layer = 2,
                   .n_head = 4,
                   .n_embd = 32,
                   .bias = false};
  config.tie_weights = false;
  config.norm_type = NormKind::rms;
  config.layer_norm_epsilon = 1e-6;
  config.position = PositionKind::rope;
  config.activation = Activation::silu;
  config.gated_mlp = true;
  config.n_inner = 48;
  config.n_kv_head = 2;
  return config;
}

GptConfig llama3_config() {
  GptConfig config = rms_config();
  config.rope.theta = 500000;
  config.rope.scaling = RopeScaling::llama3;
  config.rope.factor = 32;
  config.head_width = 64;
  return config;
}

// A configuration whose scaling bounds differ from Llama 3's.
GptConfig bounded_config() {
  GptConfig config = llama3_config();
  config.rope.low_freq_factor = 0.7;
  config.rope.high_freq_factor = 3.5;
  config.rope.original_max_position_embeddings = 100;
  return config;
}

GptConfig qwen3_config() {
  GptConfig config = rms_config();
  config.qk_norm = true;
  config.head_width = 6;
  config.tie_weights = true;
  return config;
}

GptConfig gemma_config() {
  GptConfig config = rms_config();
  config.n_layer = 7;
  config.qk_norm = true;
  config.output_norms = true;
  config.norm_gain_plus_one = true;
  config.tie_weights = true;
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
  config.windows = {3, 3, 3, 3, 3, 0, 3};
  config.rope.theta = 1e6;
  config.rope_local_theta = 10000;
  return config;
}

GptConfig gemma2_config() {
  GptConfig config = gemma_config();
  config.qk_norm = false;
  config.windows = {3, 0, 3, 0, 3, 0, 3};
  config.rope_local_theta = 0;
  config.attention_cap = 0.75;
  config.logit_cap = 2;
  return config;
}

GptConfig gemma1_config() {
  GptConfig config = gemma2_config();
  config.output_norms = false;
  config.windows.clear();
  config.attention_cap = 0;
  config.logit_cap = 0;
  return config;
}

GptConfig olmo2_config() {
  GptConfig config = rms_config();
  config.norm = NormPosition::output;
  config.qk_norm = true;
  config.qk_norm_whole = true;
  return config;
}

GptConfig olmo3_config() {
  GptConfig config = olmo2_config();
  config.n_layer = 5;
  config.windows = {3, 3, 3, 0, 3};
  config.rope_local_theta = config.rope.theta;
  return config;
}

GptConfig exaone4_config() {
  GptConfig config = olmo2_config();
  config.qk_norm_whole = false;
  config.tie_weights = true;
  return config;
}

GptConfig large_exaone4_config() {
  GptConfig config = exaone4_config();
  config.n_layer = 64;
  for (Index layer = 0; layer < 64; ++layer) {
    config.windows.push_back(layer % 4 == 3 ? 0 : 3);
    config.rope_per_layer.push_back(layer % 4 == 3 ? 0 : 1);
  }
  return config;
}

GptConfig smollm3_config() {
  GptConfig config = rms_config();
  config.n_layer = 5;
  config.rope_per_layer = {1, 1, 1, 0, 1};
  return config;
}

GptConfig phi3_config() {
  GptConfig config = rms_config();
  config.rope.width = 4;
  return config;
}

GptConfig starcoder2_config() {
  GptConfig config{
      .vocab_size = kVocabulary, .block_size = 12, .n_layer = 2, .n_head = 4, .n_embd = 32};
  config.position = PositionKind::rope;
  config.n_kv_head = 2;
  return config;
}

GptConfig gpt2_config() {
  return {.vocab_size = kVocabulary, .block_size = 12, .n_layer = 2, .n_head = 4, .n_embd = 32};
}

GptConfig neox_config() {
  GptConfig config = gpt2_config();
  config.tie_weights = true;
  config.activation = Activation::gelu_erf;
  config.position = PositionKind::rope;
  config.rope.width = 4;
  config.parallel_residual = true;
  return config;
}

// Configurations by architecture. A suffix after a comma distinguishes several of one architecture.
std::vector<std::pair<std::string, GptConfig>> all_configs() {
  GptConfig biased = rms_config();
  biased.bias = true;
  biased.rope.scaling = RopeScaling::linear;
  biased.rope.factor = 4;
  GptConfig qwen2 = rms_config();
  qwen2.qkv_bias = true;
  GptConfig without_biases = gpt2_config();
  without_biases.bias = false;
  return {{"llama", rms_config()},
          {"llama, biases", biased},
          {"llama, llama3", llama3_config()},
          {"llama, bounds", bounded_config()},
          {"qwen2", qwen2},
          {"qwen3", qwen3_config()},
          {"gemma3", gemma_config()},
          {"gemma2", gemma2_config()},
          {"gemma", gemma1_config()},
          {"olmo2", olmo2_config()},
          {"olmo2, windows", olmo3_config()},
          {"exaone4", exaone4_config()},
          {"exaone4, windows", large_exaone4_config()},
          {"smollm3", smollm3_config()},
          {"phi3", phi3_config()},
          {"starcoder2", starcoder2_config()},
          {"gpt2", gpt2_config()},
          {"gpt2, without biases", without_biases},
          {"gptneox", neox_config()}};
}

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
  void set(const std::string& key, GgufValue value) {
    std::erase_if(metadata, [&](const auto& entry) { return entry.first == key; });
    metadata.emplace_back(key, std::move(value));
  }
  void drop(const std::string& key) {
    std::erase_if(metadata, [&](const auto& entry) { return entry.first == key; });
  }

  GgufMetadata metadata;
  std::vector<GgufSource> tensors;
};

// Returns the error for a small Llama after a change of its file's contents.
template <class Change>
std::string error_after(const Change& change) {
  const TemporaryFolder folder;
  const fs::path path = folder / "bad.gguf";
  write_gguf_model(path, *model_of(rms_config()), ByteTokenizer());
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

std::string error_with(const std::string& key, GgufValue value) {
  return error_after([&](Contents& contents) { contents.set(key, std::move(value)); });
}

TEST_CASE("a model of every architecture is written as GGUF and read back bit for bit") {
  const TemporaryFolder folder;
  for (const auto& [what, config] : all_configs()) {
    CAPTURE(what);
    const std::unique_ptr<Gpt> model = model_of(config);
    const fs::path path = folder / "model.gguf";
    write_gguf_model(path, *model, ByteTokenizer(), {.name = "a name"});
    CHECK(text_under(GgufFile(path), "general.architecture") == what.substr(0, what.find(',')));
    CHECK(text_under(GgufFile(path), "general.name") == "a name");
    const LoadedModel loaded = load_model(path);
    CHECK(loaded.tokenizer->encode("ab") == ByteTokenizer().encode("ab"));
    CHECK(loaded.tokenizer->end_of_text() == ByteTokenizer().end_of_text());
    const std::vector<double> expected = logits_of(*model);
    const std::vector<double> logits = logits_of(*loaded.model);
    if (what.starts_with("gemma")) {  // gains are stored as 1 + w
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
}

TEST_CASE("the rows of Llama's queries and keys are interleaved in GGUF") {
  const TemporaryFolder folder;
  const GptConfig config = rms_config();
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
  GptConfig config = rms_config();
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
  GptConfig config = rms_config();  // 32 columns are less than a block of Q6_K
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
  GptConfig config = rms_config();
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
  write_gguf_model(folder / "whole.gguf", *model_of(rms_config()), ByteTokenizer());
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
  contents.set("split.no", std::uint16_t{2});
  contents.set("split.count", std::uint16_t{3});
  write_gguf(part(3), contents.metadata, contents.tensors);
  CHECK(contains(refusal(part(1)), "is in another part as well"));
  contents.set("split.count", std::uint16_t{2000});
  write_gguf(part(1), contents.metadata, {});
  CHECK(refusal(part(1)) ==
        part(1).string() + ": split.count: 2000 parts, at most 1024 are accepted");
  contents.set("split.count", std::uint32_t{3});
  write_gguf(part(1), contents.metadata, {});
  CHECK(refusal(part(1)) == part(1).string() + ": split.count: expected a uint16");
}

TEST_CASE("models that llama.cpp does not compute are refused by name") {
  const auto refused = [](GptConfig config) {
    return error_of([&] { require_gguf_model(config.canonical()); });
  };
  for (const auto& [what, config] : all_configs()) {
    CHECK(refused(config) == "no error");
  }
  GptConfig config = gpt2_config();
  config.windows = {3, 0};
  CHECK(contains(refused(config), "gguf: this attention cannot be expressed"));
  config.windows = {12, 0};  // as long as the context
  CHECK(refused(config) == "no error");
  config.activation = Activation::relu;
  CHECK(refused(config) ==
        "gguf: activation = relu cannot be expressed: gpt2 of llama.cpp has gelu_new");
  config = gpt2_config();
  config.attention_scale = 1;
  config.qkv_bias = false;
  config.windows = {0, 3};
  CHECK(refused(config) == "gguf: llama.cpp has no architecture for GPT-Neo; use --to hf");
  config = gemma_config();
  config.windows = {3, 0, 3, 0, 3, 0, 3};
  CHECK(contains(refused(config), "gguf: these windows cannot be expressed"));
  config = qwen3_config();
  config.rope.scaling = RopeScaling::llama3;
  CHECK(contains(refused(config), "gguf: rope_scaling = llama3 cannot be expressed"));
  config = rms_config();
  config.attention_scale = 0.5;
  CHECK(contains(refused(config), "gguf: these heads cannot be expressed"));
}

TEST_CASE("invalid metadata of a GGUF model is refused with its key") {
  using Texts = std::vector<std::string>;
  const auto number = [](std::uint32_t value) { return GgufValue(value); };
  CHECK(
      error_with("general.architecture", std::string("falcon")) ==
      "general.architecture: expected llama, qwen2, qwen3, gemma3, gemma2, gemma, olmo2, exaone4, "
      "smollm3, phi3, starcoder2, gpt2 or gptneox, got 'falcon'");
  CHECK(error_after([](Contents& contents) { contents.drop("llama.block_count"); }) ==
        "llama.block_count: is missing");
  CHECK(error_with("llama.block_count", number(0)) ==
        "llama.block_count: expected 1 to 16777216, got 0");
  CHECK(error_with("llama.block_count", number(5000)) ==
        "llama.block_count: expected 1 to 4096, got 5000");
  CHECK(error_with("llama.embedding_length", std::string("many")) ==
        "llama.embedding_length: expected a whole number from 0 to 16777216, got 'many'");
  CHECK(error_with("llama.context_length", std::uint64_t{1} << 63) ==
        "llama.context_length: expected a whole number from 0 to 16777216, got "
        "9223372036854775808");
  CHECK(error_with("llama.attention.head_count_kv", number(3)) ==
        "llama.attention.head_count_kv: expected a divisor of 4 heads, got 3");
  CHECK(error_with("llama.attention.head_count_kv", GgufArray(Ids{2, 4})) ==
        "llama.attention.head_count_kv: expected the same whole number for all layers");
  CHECK(error_with("llama.attention.value_length", number(4)) ==
        "llama.attention.value_length: expected 8, the width of keys, got 4");
  CHECK(error_with("llama.rope.dimension_count", number(4)) ==
        "llama.rope.dimension_count: expected 8, the width of a head, got 4");
  for (const std::uint32_t wrong : {0U, 3U, 10U}) {
    CHECK(error_with("llama.rope.dimension_count", number(wrong)) ==
          "llama.rope.dimension_count: expected an even number from 2 to 8, the width of a head, "
          "got " +
              std::to_string(wrong));
  }
  for (const std::uint32_t wrong : {0U, 258U, 260U}) {
    CHECK(error_with("llama.vocab_size", number(wrong)) ==
          "llama.vocab_size: expected 259, the rows of token_embd.weight, got " +
              std::to_string(wrong));
  }
  CHECK(error_with("llama.rope.scaling.type", std::string("yarn")) ==
        "llama.rope.scaling.type: expected none or linear, got 'yarn'");
  CHECK(error_with("llama.rope.freq_base", std::nanf("")) ==
        "llama.rope.freq_base: expected a number above 0 and at most 1e12, got nan");
  CHECK(error_with("llama.attention.layer_norm_rms_epsilon", GgufArray(Texts{"a"})) ==
        "llama.attention.layer_norm_rms_epsilon: expected a number, got a list");
  CHECK(error_with("llama.expert_count", number(8)) == "llama.expert_count: 8 is not supported");
  CHECK(error_with("llama.final_logit_softcapping", 30.0F) ==
        "llama.final_logit_softcapping: 30 is not supported");
  CHECK(error_with("llama.attention.sliding_window", number(4)) ==
        "llama.attention.sliding_window: expected 0 or at least the context of 12, got 4");
  CHECK(contains(
      error_with("llama.feed_forward_length", number(1U << 24)),
      "tensor blk.0.ffn_up.weight: expected shape [16777216, 32] according to its metadata"));
  CHECK(contains(error_with("llama.attention.head_count", number(1U << 24)),
                 "llama.attention.head_count: "));
  CHECK(error_with("llama.attention.layer_norm_rms_epsilon", 2.0F) ==
        "llama.attention.layer_norm_rms_epsilon: expected a number above 0 and below 1, got 2");
  CHECK(contains(error_with("llama.block_count", number(4096)),
                 "does not match its metadata: missing 'blk.2.attn_norm.weight'"));
}

TEST_CASE("GGUF keys without effect and lists of one repeated number are accepted") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  const std::unique_ptr<Gpt> model = model_of(rms_config());
  write_gguf_model(path, *model, ByteTokenizer());
  Contents contents(path);
  contents.set("llama.expert_count", std::uint32_t{0});
  contents.set("llama.tensor_data_layout", std::string("Meta AI original pth"));
  contents.set("llama.attention.sliding_window", std::uint32_t{12});
  contents.set("llama.attention.head_count_kv", GgufArray(Ids{2, 2}));
  contents.drop("llama.rope.freq_base");
  contents.drop("llama.attention.key_length");
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
  write_gguf_model(path, *model_of(rms_config()), ByteTokenizer(),
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
