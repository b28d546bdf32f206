#include "formats/families/families.h"
#include "support/drawn_config.h"
#include "support/test.h"

namespace model_directory_test {
// Directories as transformers writes them, and damaged or foreign directories.

// Returns a model in which all weights and biases differ.
std::unique_ptr<Gpt> model_of(bool tie, bool bias = true) {
  GptConfig config{.vocab_size = 259,
                   .block_size = 6,
                   .n_layer = 2,
                   .n_head = 3,
                   .n_embd = 9,
                   .bias = bias,
                   .tie_weights = tie};
  auto model = std::make_unique<Gpt>(config);
  std::uint64_t number = 0;
  for (auto& [name, parameter] : model->parameters()) {
    parameter.copy_from(random_normal(parameter.shape(), RandomStream{9, number++}, 0, 1));
  }
  return model;
}

fs::path written(const TemporaryFolder& folder, const Gpt& model) {
  const fs::path path = folder / "model";
  fs::create_directory(path);
  write_model_files(path, model, ByteTokenizer());
  return path;
}

NamedTensors file_tensors(const fs::path& directory) {
  return read_safetensors(directory / "model.safetensors");
}

void write_tensors(const fs::path& directory, const NamedTensors& tensors) {
  write_safetensors(directory / "model.safetensors", tensors);
}

Tensor* find(NamedTensors& tensors, const std::string& name) {
  for (auto& [other, tensor] : tensors) {
    if (other == name) {
      return &tensor;
    }
  }
  return nullptr;
}

void change_config(const fs::path& directory, const nlohmann::json& changes) {
  nlohmann::json config = nlohmann::json::parse(file_contents(directory / "config.json"));
  config.update(changes);
  write_bytes(directory / "config.json", config.dump());
}

void check_same_parameters(const Gpt& a, const Gpt& b) {
  const NamedTensors x = a.parameters();
  const NamedTensors y = b.parameters();
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO(x[i].first);
    CHECK(x[i].first == y[i].first);
    CHECK(x[i].second.to_vector() == y[i].second.to_vector());
  }
}

std::string load_error(const fs::path& directory) {
  return error_of([&] { load_model(directory); });
}

// Splits the tensors into two shards, the head of the list in the first, and writes their index.
nlohmann::json shard(const fs::path& directory) {
  const NamedTensors tensors = file_tensors(directory);
  const auto middle = tensors.begin() + static_cast<std::ptrdiff_t>(tensors.size() / 2);
  const std::array<NamedTensors, 2> parts{NamedTensors(tensors.begin(), middle),
                                          NamedTensors(middle, tensors.end())};
  nlohmann::json map;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string name = "model-0000" + std::to_string(i + 1) + "-of-00002.safetensors";
    write_safetensors(directory / name, parts[i]);
    for (const auto& [tensor, values] : parts[i]) {
      map[tensor] = name;
    }
  }
  fs::remove(directory / "model.safetensors");
  const nlohmann::json index{{"metadata", {{"total_size", 1}}}, {"weight_map", map}};
  write_bytes(directory / "model.safetensors.index.json", index.dump());
  return index;
}

TEST_CASE("a model directory gives the weights back bit by bit") {
  const TemporaryFolder folder;
  for (const bool tie : {true, false}) {
    for (const bool bias : {true, false}) {
      const auto model = model_of(tie, bias);
      const LoadedModel loaded = load_model(written(folder, *model));
      CHECK(loaded.model->config().tie_weights == tie);
      CHECK(loaded.model->config().bias == bias);
      check_same_parameters(*loaded.model, *model);
      fs::remove_all(folder / "model");
    }
  }
}

TEST_CASE("loading tells the share of the weights that are read, whatever their form") {
  const TemporaryFolder folder;
  const auto model = model_of(false);
  const fs::path path = written(folder, *model);
  for (const MatrixForm form : {MatrixForm::float32, MatrixForm::bfloat16}) {
    std::vector<double> shares;
    load_weights(path,
                 {.matrices = form, .progress = [&](double share) { shares.push_back(share); }});
    CHECK(shares.size() == model->parameters().size());
    CHECK(std::ranges::is_sorted(shares));
    CHECK(shares.front() > 0);
    CHECK(shares.back() == 1);
  }
}

TEST_CASE("tensor names may lack the prefix transformer. and causal masks are ignored") {
  const TemporaryFolder folder;
  const auto model = model_of(true);
  const fs::path directory = written(folder, *model);
  NamedTensors tensors;
  for (const auto& [name, tensor] : file_tensors(directory)) {
    tensors.emplace_back(name.substr(std::string("transformer.").size()), tensor);
  }
  for (const std::string layer : {"h.0", "h.1"}) {
    tensors.emplace_back(layer + ".attn.bias", Tensor::ones({1, 1, 6, 6}, DType::boolean));
    tensors.emplace_back(layer + ".attn.masked_bias", Tensor::scalar(-1e4));
  }
  write_tensors(directory, tensors);
  check_same_parameters(*load_model(directory).model, *model);

  tensors.emplace_back("transformer.ln_f.bias", Tensor::zeros({9}));
  write_tensors(directory, tensors);
  CHECK(contains(load_error(directory), "ln_f.bias': its weight appears twice"));
}

TEST_CASE("weights of other types become float32") {
  const TemporaryFolder folder;
  const auto model = model_of(false);
  const fs::path directory = written(folder, *model);
  NamedTensors tensors = file_tensors(directory);
  for (auto& [name, tensor] : tensors) {
    tensor = convert(tensor, name.ends_with("bias") ? DType::float64 : DType::bfloat16);
  }
  write_tensors(directory, tensors);
  const LoadedModel loaded = load_model(directory);
  for (const auto& [name, parameter] : loaded.model->parameters()) {
    CHECK(parameter.dtype() == DType::float32);
  }
  const auto expected = [&](const std::string& name, DType dtype) {
    NamedTensors all = model->parameters();
    return convert(*find(all, name), dtype).to_vector();
  };
  NamedTensors read = loaded.model->parameters();
  for (const std::string name : {"wte.weight", "lm_head.weight", "h.1.attn.c_attn.weight"}) {
    INFO(name);
    CHECK(find(read, name)->to_vector() == expected(name, DType::bfloat16));
  }
  CHECK(find(read, "h.1.mlp.c_fc.bias")->to_vector() ==
        expected("h.1.mlp.c_fc.bias", DType::float32));
}

TEST_CASE("shards are read where their index says") {
  const TemporaryFolder folder;
  const auto model = model_of(false);
  const fs::path directory = written(folder, *model);
  const nlohmann::json index = shard(directory);
  check_same_parameters(*load_model(directory).model, *model);

  const fs::path index_path = directory / "model.safetensors.index.json";
  const auto error_with = [&](const std::string& tensor, const nlohmann::json& file) {
    nlohmann::json changed = index;
    changed["weight_map"][tensor] = file;
    write_bytes(index_path, changed.dump());
    return load_error(directory);
  };
  const std::string first = "model-00001-of-00002.safetensors";
  const std::string second = "model-00002-of-00002.safetensors";
  const std::string wte = "transformer.wte.weight";
  const bool in_first = index["weight_map"][wte] == first;
  SECTION("a tensor stored in another shard is refused") {
    CHECK(contains(error_with(wte, in_first ? second : first), "lists it in another file"));
  }
  SECTION("a missing buffer is ignored and a missing weight is not") {
    CHECK(error_with("transformer.h.0.attn.masked_bias", first) == "no error");
    NamedTensors tensors = read_safetensors(directory / first);
    const std::string disconnected = tensors.back().first;
    tensors.pop_back();
    write_safetensors(directory / first, tensors);
    CHECK(contains(load_error(directory),
                   "does not match config.json: missing '" + disconnected + "'"));
  }
  SECTION("a tensor that the index does not list is refused") {
    nlohmann::json changed = index;
    changed["weight_map"].erase(wte);
    write_bytes(index_path, changed.dump());
    CHECK(contains(load_error(directory), "does not list it"));
  }
  SECTION("a shard that is missing is named") {
    CHECK(contains(error_with("transformer.x", "none.safetensors"), "none.safetensors"));
  }
  SECTION("names that lead out of the directory are refused") {
    for (const std::string name : {"../a.safetensors", "/a.safetensors", "a/b.safetensors",
                                   ".safetensors", "a.bin", "", "..\\a.safetensors"}) {
      INFO(name);
      CHECK(contains(error_with(wte, name), "is not the name of a .safetensors file"));
    }
    CHECK(contains(error_with(wte, 5), "expected the name of a file"));
  }
  SECTION("an index without a map is refused") {
    write_bytes(index_path, R"({"weight_map": {}})");
    CHECK(contains(load_error(directory), "weight_map: expected an object that gives the file"));
  }
}

TEST_CASE("a head that differs from the embedding is a head of its own") {
  const TemporaryFolder folder;
  const auto model = model_of(true);
  const fs::path directory = written(folder, *model);
  NamedTensors tensors = file_tensors(directory);
  Tensor head = find(tensors, "transformer.wte.weight")->clone();
  tensors.emplace_back("lm_head.weight", head);
  write_tensors(directory, tensors);
  check_same_parameters(*load_model(directory).model, *model);

  head.data<float>()[7] += 1;
  write_tensors(directory, tensors);
  const LoadedModel untied = load_model(directory);
  CHECK_FALSE(untied.model->config().tie_weights);
  CHECK(untied.model->head_weight().to_vector() == head.to_vector());
  CHECK_FALSE(read_effective_config(directory).tie_weights);
}

TEST_CASE("non-zero biases in the file of a model without biases are kept") {
  const TemporaryFolder folder;
  const fs::path directory = written(folder, *model_of(true, false));
  CHECK_FALSE(read_effective_config(directory).bias);
  NamedTensors tensors = file_tensors(directory);
  find(tensors, "transformer.h.1.mlp.c_proj.bias")->data<float>()[2] = 0.5F;
  write_tensors(directory, tensors);
  const LoadedModel loaded = load_model(directory);
  CHECK(loaded.model->config().bias);
  NamedTensors parameters = loaded.model->parameters();
  CHECK(find(parameters, "h.1.mlp.c_proj.bias")->to_vector()[2] == 0.5);
  CHECK(find(parameters, "h.0.mlp.c_proj.bias")->to_vector() == std::vector<double>(9, 0.0));
}

TEST_CASE("tensors outside of layers that are not weights are ignored with a warning") {
  const TemporaryFolder folder;
  const auto model = model_of(true);
  const fs::path directory = written(folder, *model);
  NamedTensors tensors = file_tensors(directory);
  tensors.emplace_back("v_head.summary.weight", Tensor::zeros({1, 9}));
  tensors.emplace_back("score.weight", Tensor::zeros({2, 9}));
  write_tensors(directory, tensors);
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };
  check_same_parameters(*load_weights(directory, {.warn = warn}), *model);
  CHECK(warnings ==
        std::vector<std::string>{
            (directory / "model.safetensors").string() +
            ": ignored 'score.weight', 'v_head.summary.weight': not weights of this model"});
  read_effective_config(directory, warn);
  CHECK(warnings.size() == 2);
  CHECK(load_error(directory) == "no error");
}

TEST_CASE("tensors that contradict config.json are named in one line") {
  const TemporaryFolder folder;
  const fs::path directory = written(folder, *model_of(true));
  SECTION("missing and unexpected tensors") {
    NamedTensors tensors = file_tensors(directory);
    for (auto& [name, tensor] : tensors) {
      name = name == "transformer.ln_f.bias" ? "transformer.ln_g.bias" : name;
    }
    write_tensors(directory, tensors);
    CHECK(contains(load_error(directory),
                   "does not match config.json: missing 'transformer.ln_f.bias'; unexpected "
                   "'transformer.ln_g.bias'"));
  }
  SECTION("one layer too few") {
    change_config(directory, {{"n_layer", 3}});
    CHECK(contains(load_error(directory), "missing 'transformer.h.2.ln_1.weight', "));
    CHECK(contains(load_error(directory), " and 8 more"));
  }
  SECTION("one layer too many") {
    change_config(directory, {{"n_layer", 1}});
    CHECK(contains(load_error(directory), "unexpected 'transformer.h.1."));
  }
  SECTION("another vocabulary of any size") {
    change_config(directory, {{"vocab_size", 16000000}});
    CHECK(contains(load_error(directory),
                   "transformer.wte.weight: expected shape [16000000, 9] according to "
                   "config.json, got [259, 9]"));
  }
  SECTION("pickles of PyTorch") {
    fs::rename(directory / "model.safetensors", directory / "pytorch_model.bin");
    CHECK(contains(load_error(directory), "pytorch_model.bin, a Python pickle, is not supported"));
  }
}

TEST_CASE("a path without a readable model is an error that says what it is and what to do") {
  const TemporaryFolder folder;
  const auto error_at = [](const fs::path& path) {
    return error_of([&] { find_model_directory(path); });
  };
  const std::string place = folder.path().string();
  CHECK(error_at(folder / "none") == place + "/none: no such directory");
  write_bytes(folder / "model.pth", "PK");
  CHECK(contains(error_at(folder / "model.pth"), "/model.pth, a Python pickle, is not supported;"));
  CHECK(contains(error_at(folder.path()), "/model.pth, a Python pickle, is not supported; save"));
  write_bytes(folder / "model.pt", "PK");
  CHECK(error_at(folder.path()) ==
        place + ": no model here, but a PyTorch file; use " + place + "/model.pt");
  write_bytes(folder / "weights", "GGUF and more");
  CHECK(error_at(folder / "weights") ==
        place + "/weights: is a GGUF file; rename it to 'weights.gguf'");
  write_bytes(folder / "a.gguf", "GGUF");
  CHECK(error_at(folder.path()) ==
        place + ": no model here, but a GGUF file; use " + place + "/a.gguf");
  write_bytes(folder / "text", "text");
  CHECK(
      contains(error_at(folder / "text"), "/text: is not a directory; expected a model directory"));
}

TEST_CASE("placeholder files are reported as missing data") {
  const TemporaryFolder folder;
  const fs::path directory = written(folder, *model_of(true));
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n";
  SECTION("pointers of Git LFS") {
    for (const std::string name : {"model.safetensors", "tokenizer.json"}) {
      const std::string before = file_contents(directory / name);
      write_bytes(directory / name, pointer);
      CHECK(contains(load_error(directory), "/" + name + ": is a pointer of Git LFS"));
      write_bytes(directory / name, before);
    }
    write_bytes(folder / "a.gguf", pointer);
    CHECK(contains(load_error(folder / "a.gguf"), "/a.gguf: is a pointer of Git LFS"));
  }
  SECTION("shards without their index") {
    shard(directory);
    fs::remove(directory / "model.safetensors.index.json");
    CHECK(
        contains(load_error(directory), "is one of several files; model.safetensors.index.json, "));
  }
}

TEST_CASE("a model may be loaded with fewer positions than its file has") {
  const TemporaryFolder folder;
  const auto model = model_of(true);
  const LoadedModel loaded = load_model(
      written(folder, *model), {.adjust = [](GptConfig& config) { config.block_size = 4; }});
  CHECK(loaded.model->config().block_size == 4);
  NamedTensors whole = model->parameters();
  NamedTensors cut = loaded.model->parameters();
  CHECK(find(cut, "wpe.weight")->to_vector() ==
        slice(*find(whole, "wpe.weight"), 0, 0, 4).to_vector());
}

// Values of AutoConfig of transformers 5.24 for a config.json with nothing but a type.
struct Defaults {
  const char* type;
  Index vocabulary;
  Index block;
  Index width;
  Index layers;
  Index heads;
  Index key_heads;
  Index head_width;
  Index inner;
  double epsilon;
  Activation activation;
  bool tied;
  double dropout;
  double theta;         // of the first layer; 0: no rotary positions
  Index turned;         // rotated elements of a head
  Index first_window;   // of the first layer; 0: none
  Index second_window;  // of the second layer
  Index sixth_window;
};

TEST_CASE("keys missing from config.json get the defaults of transformers") {
  using enum Activation;
  const std::vector<Defaults> families{
      {"gpt2", 50257, 1024, 768, 12, 12, 12, 64, 3072, 1e-5, gelu_tanh, true, 0.1, 0, 0, 0, 0, 0},
      {"gpt_neo", 50257, 2048, 2048, 24, 16, 16, 128, 8192, 1e-5, gelu_tanh, true, 0, 0, 0, 0, 256,
       256},
      {"gpt_neox", 50432, 2048, 6144, 44, 64, 64, 96, 24576, 1e-5, gelu_erf, false, 0, 1e4, 24, 0,
       0, 0},
      {"llama", 32000, 2048, 4096, 32, 32, 32, 128, 11008, 1e-6, silu, false, 0, 1e4, 128, 0, 0, 0},
      {"mistral", 32000, 131072, 4096, 32, 32, 8, 128, 14336, 1e-6, silu, false, 0, 1e4, 128, 4096,
       4096, 4096},
      {"qwen2", 151936, 32768, 4096, 32, 32, 32, 128, 22016, 1e-6, silu, false, 0, 1e4, 128, 0, 0,
       0},
      {"qwen3", 151936, 32768, 4096, 32, 32, 32, 128, 22016, 1e-6, silu, false, 0, 1e4, 128, 0, 0,
       0},
      {"gemma3_text", 262208, 131072, 2304, 26, 8, 4, 256, 9216, 1e-6, gelu_tanh, true, 0, 1e4, 256,
       4096, 4096, 0},
      {"phi3", 32064, 4096, 3072, 32, 32, 32, 96, 8192, 1e-5, silu, false, 0, 1e4, 96, 0, 0, 0},
      {"stablelm", 50304, 4096, 2560, 32, 32, 32, 80, 6912, 1e-5, silu, false, 0, 1e4, 20, 0, 0, 0},
      {"starcoder2", 49152, 4096, 3072, 30, 24, 2, 128, 12288, 1e-5, gelu_tanh, true, 0, 1e4, 128,
       0, 0, 0},
      {"phi", 51200, 2048, 2048, 24, 32, 32, 64, 8192, 1e-5, gelu_tanh, false, 0, 1e4, 32, 0, 0, 0},
      {"gemma", 256000, 8192, 3072, 28, 16, 16, 256, 24576, 1e-6, gelu_tanh, true, 0, 1e4, 256, 0,
       0, 0},
      {"granite", 32000, 2048, 4096, 32, 32, 32, 128, 11008, 1e-6, silu, false, 0, 1e4, 128, 0, 0,
       0},
      {"smollm3", 128256, 32768, 2048, 36, 16, 4, 128, 11008, 1e-6, silu, true, 0, 2e6, 128, 0, 0,
       0},
      {"arcee", 32000, 4096, 2560, 32, 32, 32, 80, 18432, 1e-5, relu2, false, 0, 1e4, 80, 0, 0, 0},
      {"ernie4_5", 103424, 131072, 1024, 18, 16, 2, 128, 3072, 1e-5, silu, true, 0, 5e5, 128, 0, 0,
       0},
      {"helium", 48000, 4096, 2560, 24, 20, 20, 128, 7040, 1e-8, silu, false, 0, 1e5, 128, 0, 0, 0},
      {"opt", 50272, 2048, 768, 12, 12, 12, 64, 3072, 1e-5, relu, true, 0, 0, 0, 0, 0, 0},
      {"olmo", 50304, 2048, 4096, 32, 32, 32, 128, 11008, 1e-5, silu, false, 0, 1e4, 128, 0, 0, 0},
      {"olmo2", 50304, 2048, 4096, 32, 32, 32, 128, 11008, 1e-5, silu, false, 0, 1e4, 128, 0, 0, 0},
      {"olmo3", 50304, 2048, 4096, 32, 32, 32, 128, 11008, 1e-5, silu, false, 0, 5e5, 128, 4096,
       4096, 4096},
      {"exaone4", 102400, 2048, 4096, 32, 32, 32, 128, 16384, 1e-5, silu, false, 0, 1e4, 128, 4096,
       4096, 4096},
      {"gemma2", 256000, 8192, 2304, 26, 8, 4, 256, 9216, 1e-6, gelu_tanh, true, 0, 1e4, 256, 4096,
       0, 0},
      {"nanochat", 50304, 2048, 768, 12, 6, 6, 128, 8192, 1e-6, relu2, false, 0, 1e4, 128, 0, 0,
       0}};
  for (const Defaults& usual : families) {
    INFO(usual.type);
    const GptConfig config =
        parse_model_config(concat_text("{\"model_type\": \"", usual.type, "\"}"), "config.json")
            .config;
    const BlockPlan first = block_plan(config, 0);
    CHECK(config.vocab_size == usual.vocabulary);
    CHECK(config.block_size == usual.block);
    CHECK(config.n_embd == usual.width);
    CHECK(config.n_layer == usual.layers);
    CHECK(config.n_head == usual.heads);
    CHECK(first.attention.key_heads == usual.key_heads);
    CHECK(first.attention.head_width == usual.head_width);
    CHECK(first.mlp_width == usual.inner);
    CHECK(config.layer_norm_epsilon == usual.epsilon);
    CHECK(config.activation == usual.activation);
    CHECK(config.tie_weights == usual.tied);
    CHECK(config.attention_dropout == usual.dropout);
    CHECK(first.attention.rope.has_value() == (usual.theta > 0));
    const RopeOptions rope = first.attention.rope.value_or(RopeOptions{.theta = 0});
    CHECK(rope.theta == usual.theta);
    CHECK((rope.width > 0 || usual.theta == 0 ? rope.width : usual.head_width) == usual.turned);
    CHECK(first.attention.window == usual.first_window);
    CHECK(block_plan(config, 1).attention.window == usual.second_window);
    CHECK(block_plan(config, 5).attention.window == usual.sixth_window);
  }
}

TEST_CASE("missing soft caps and scales get the defaults of transformers") {
  const auto config = [](const std::string& keys) {
    return parse_model_config("{" + keys + "}", "config.json").config;
  };
  const GptConfig gemma = config(R"("model_type": "gemma2", "query_pre_attn_scalar": 144)");
  CHECK(gemma.attention_cap == 50);
  CHECK(gemma.logit_cap == 30);
  CHECK(gemma.attention_scale == Approx(1.0 / 12));
  const GptConfig plain = config(R"("model_type": "gemma2", "attn_logit_softcapping": null,
                                    "final_logit_softcapping": null)");
  CHECK(plain.attention_cap == 0);
  CHECK(plain.logit_cap == 0);
  CHECK(config(R"("model_type": "nanochat")").logit_cap == 15);
  CHECK(config(R"("model_type": "olmo")").qkv_clip == 0);
  const GptConfig phi = config(R"("model_type": "phi3", "num_attention_heads": 768,
      "max_position_embeddings": 65536, "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4]})");
  CHECK(phi.rope.original_max_position_embeddings == 4096);
  CHECK(phi.rope.attention_factor == Approx(std::sqrt(1 + std::log(16.0) / std::log(4096.0))));
  const GptConfig exaone = config(R"("model_type": "exaone4", "num_hidden_layers": 4)");
  CHECK(exaone.rope_per_layer == std::vector<Index>{1, 1, 1, 0});
}

TEST_CASE("null keys have the same meaning as in transformers") {
  const auto attention = [](const std::string& keys) {
    return block_plan(parse_model_config("{" + keys + "}", "config.json").config, 31).attention;
  };
  CHECK(attention(R"("model_type": "mistral", "sliding_window": null)").window == 0);
  CHECK(attention(R"("model_type": "qwen2", "num_key_value_heads": null,
                     "num_attention_heads": 16)")
            .key_heads == 16);
  CHECK(attention(R"("model_type": "qwen2", "use_sliding_window": true)").window == 4096);
  CHECK(attention(R"("model_type": "qwen2", "use_sliding_window": true,
                     "sliding_window": null)")
            .window == 0);
  CHECK(contains(error_of([] {
                   parse_model_config(R"({"model_type": "gemma3_text", "sliding_window": null})",
                                      "config.json");
                 }),
                 "sliding_window: expected a number from 1, got null"));
  const auto scaled = parse_model_config(R"({"model_type": "llama",
                             "rope_scaling": {"rope_type": "llama3", "factor": 8}})",
                                         "config.json");
  CHECK(scaled.config.rope.original_max_position_embeddings == 2048);  // the context length
}

TEST_CASE("an activation is found by every name that transformers has for it") {
  const std::vector<std::pair<std::string, Activation>> names{
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"gelu", Activation::gelu_erf},
      {"gelu_python", Activation::gelu_erf},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"relu", Activation::relu},
      {"relu2", Activation::relu2}};
  for (const auto& [name, activation] : names) {
    CHECK(parse_model_config(R"({"model_type": "gpt2", "activation_function": ")" + name + "\"}",
                             "config.json")
              .config.activation == activation);
  }
}

TEST_CASE("GPT-2 options that Headlight does not compute are refused by name") {
  const auto error_with = [](const std::string& more) {
    return error_of(
        [&] { parse_model_config(R"({"model_type": "gpt2", )" + more + "}", "config.json"); });
  };
  CHECK(error_with(R"("activation_function": "gelu_pytorch_tanh")") == "no error");
  CHECK(error_with(R"("reorder_and_upcast_attn": true)") == "no error");
  CHECK(error_with(R"("n_inner": 3072)") == "no error");
  CHECK(contains(error_with(R"("activation_function": "quick_gelu")"),
                 "config.json: activation_function: expected gelu_new, gelu_pytorch_tanh, gelu, "
                 "relu, relu2 or silu, got 'quick_gelu'"));
  CHECK(error_with(R"("n_inner": 3000)") == "no error");
  CHECK(contains(error_with(R"("n_inner": 0)"), "config.json: n_inner: "));
  CHECK(contains(error_with(R"("scale_attn_weights": false)"), "scale_attn_weights: only true"));
  CHECK(contains(error_with(R"("scale_attn_by_inverse_layer_idx": true)"),
                 "scale_attn_by_inverse_layer_idx: only false"));
  CHECK(contains(error_with(R"("add_cross_attention": true)"), "add_cross_attention: only false"));
  CHECK(error_of([] { parse_model_config(R"({"model_type": "t5"})", "config.json"); }) ==
        "config.json: model_type: expected gpt2, gpt_neo, gpt_neox, llama, mistral, qwen2, qwen3, "
        "gemma3_text, phi3, stablelm, starcoder2, phi, gemma, granite, smollm3, arcee, ernie4_5, "
        "helium, seed_oss, opt, olmo, olmo2, olmo3, exaone4, gemma2, nanochat or bert, got 't5'");
}

TEST_CASE(
    "options of Llama and related models that Headlight does not compute are refused by name") {
  const auto error_with = [](const std::string& type, const std::string& more) {
    return error_of([&] {
      parse_model_config(R"({"model_type": ")" + type + "\", " + more + "}", "config.json");
    });
  };
  const auto llama = [&](const std::string& more) { return error_with("llama", more); };
  CHECK(llama(R"("rope_scaling": {"type": "linear", "factor": 2})") == "no error");
  CHECK(llama(R"("rope_scaling": {"type": "linear"})") ==
        "config.json: rope_scaling.factor: is missing");
  CHECK(llama(R"("rope_scaling": {"rope_type": "yarn", "factor": 2})") == "no error");
  CHECK(llama(R"("rope_scaling": {"rope_type": "yarn", "factor": 2, "attention_factor": 0})") ==
        "config.json: rope_scaling.attention_factor: expected a number above 0, got 0");
  CHECK(llama(R"("rope_scaling": {"rope_type": "yarn", "factor": 2, "beta_fast": 0.5})") ==
        "config.json: rope_scaling.beta_fast: expected a number from rope_scaling.beta_slow "
        "= 1 to 1e+12, got 0.5");
  CHECK(llama(R"("rope_parameters": {"rope_type": "dynamic", "factor": 2})") == "no error");
  CHECK(llama(R"("rope_parameters": {"rope_type": "longrope", "factor": 2})") ==
        "config.json: rope_parameters.rope_type: expected default, linear, llama3, yarn or "
        "dynamic, got 'longrope'");
  CHECK(llama(R"("rope_parameters": 7)") == "config.json: rope_parameters: expected an object");
  CHECK(llama(R"("rope_theta": -1)") ==
        "config.json: rope_theta: expected a number above 0 and at most 1e+12, got -1");
  CHECK(contains(llama(R"("partial_rotary_factor": 0.5)"),
                 "partial_rotary_factor: only 1 is supported"));
  CHECK(contains(llama(R"("quantization_config": {"bits": 4})"),
                 "quantization_config: quantised weights are not supported"));
  CHECK(contains(llama(R"("hidden_act": "tanh")"), "hidden_act: expected gelu_new"));
  CHECK(contains(llama(R"("num_hidden_layers": 1099511627776)"), "num_hidden_layers: expected 1"));
  CHECK(contains(llama(R"("num_key_value_heads": 5)"),
                 "num_key_value_heads: expected a divisor of 32"));
  CHECK(error_with("qwen2", R"("layer_types": ["full_attention"])") ==
        "config.json: layer_types: expected 32 texts, got 1");
  CHECK(error_with("qwen3", R"("num_hidden_layers": 1, "layer_types": ["chunked_attention"])") ==
        "config.json: layer_types: expected full_attention, as there is no window, got "
        "'chunked_attention'");
  CHECK(contains(error_with("gpt_neox", R"("rotary_pct": 2)"), "rotary_pct: expected"));
}

TEST_CASE("options of more families that Headlight does not compute are refused by name") {
  const auto error_with = [](const std::string& type, const std::string& more) {
    return error_of([&] {
      parse_model_config(R"({"model_type": ")" + type + "\", " + more + "}", "config.json");
    });
  };
  CHECK(error_with("phi3", R"("rope_scaling": {"type": "longrope", "short_factor": [1]})") ==
        "config.json: rope_scaling.short_factor: expected 48 numbers, one for two rotated elements "
        "of a head, got 1");
  CHECK(error_with("phi3", R"("rope_scaling": {"type": "linear", "factor": 2})") ==
        "config.json: rope_type: expected default or longrope, got linear");
  CHECK(error_with("gemma2", R"("attn_logit_softcapping": 0)") ==
        "config.json: attn_logit_softcapping: expected null or a number above 0, got 0");
  CHECK(error_with("gemma2", R"("final_logit_softcapping": 1e-9)") ==
        "config.json: final_logit_softcapping: expected 0 or a number from 1e-6 to 1e+06, got "
        "1e-09");
  CHECK(error_with("olmo", R"("clip_qkv": -1)") ==
        "config.json: clip_qkv: expected null or a number above 0, got -1");
  CHECK(contains(error_with("exaone4", R"("sliding_window_pattern": "LLLG")"),
                 "sliding_window_pattern: expected a whole number"));
  CHECK(contains(error_with("olmo3", R"("sliding_window": null)"),
                 "sliding_window: expected a number from 1, got null"));
  CHECK(error_with("smollm3", R"("no_rope_layers": [1, 0])") ==
        "config.json: no_rope_layers: expected 36 numbers, got 2");
  CHECK(contains(error_with("stablelm", R"("qk_layernorm": true)"), "qk_layernorm: only false"));
  CHECK(error_with("stablelm", R"("head_dim": 64)") ==
        "config.json: head_dim: expected 80, got 64");
  CHECK(error_with("stablelm", R"("hidden_dropout": 0.1)") ==
        "config.json: hidden_dropout: only 0 is supported");
  CHECK(contains(error_with("gemma", R"("use_bidirectional_attention": true)"),
                 "use_bidirectional_attention: only false"));
  CHECK(error_with("granite", R"("residual_multiplier": 0)") ==
        "config.json: residual_multiplier: expected a number above 0, got 0");
  CHECK(contains(error_with("opt", R"("do_layer_norm_before": false)"),
                 "do_layer_norm_before: only true"));
  CHECK(error_with("opt", R"("word_embed_proj_dim": 512)") ==
        "config.json: word_embed_proj_dim: only hidden_size is supported");
  CHECK(contains(error_with("arcee", R"("partial_rotary_factor": 0.5)"),
                 "partial_rotary_factor: only 1 is supported"));
}

TEST_CASE("errors name the keys of config.json as the file spells them") {
  const auto error_with = [](const std::string& type, const std::string& more) {
    return error_of([&] {
      parse_model_config(R"({"model_type": ")" + type + "\", " + more + "}", "config.json");
    });
  };
  CHECK(error_with("gpt2", R"("n_head": 5)") ==
        "config.json: n_head: expected a divisor of n_embd 768, got 5");
  CHECK(error_with("gpt_neo", R"("num_heads": 5)") ==
        "config.json: num_heads: expected a divisor of hidden_size 2048, got 5");
  CHECK(error_with("llama", R"("num_attention_heads": 5)") ==
        "config.json: num_attention_heads: expected a divisor of hidden_size 4096, got 5");
  CHECK(error_with("llama", R"("rms_norm_eps": 2)") ==
        "config.json: rms_norm_eps: expected a number above 0 and below 1, got 2");
  CHECK(error_with("gpt_neox", R"("layer_norm_eps": -1)") ==
        "config.json: layer_norm_eps: expected a number above 0 and below 1, got -1");
  CHECK(error_with("gpt2", R"("attn_pdrop": 1)") ==
        "config.json: attn_pdrop: expected 0 to below 1, got 1");
  CHECK(error_with("gpt_neox", R"("rotary_emb_base": -2)") ==
        "config.json: rotary_emb_base: expected a number above 0 and at most 1e+12, got -2");
  CHECK(error_with("llama", R"("rope_parameters": {"rope_theta": -2})") ==
        "config.json: rope_parameters.rope_theta: expected a number above 0 and at most 1e+12, got "
        "-2");
  CHECK(error_with("llama", R"("rope_scaling": {"type": "linear", "factor": -2})") ==
        "config.json: rope_scaling.factor: expected a number above 0 and at most 1e+12, got -2");
  CHECK(error_with("llama", R"("head_dim": 5)") ==
        "config.json: partial_rotary_factor: expected an even number of the 5 elements of a head, "
        "got 5");
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

TEST_CASE("invalid values of options that only Headlight has are refused by name") {
  const auto error_with = [](const std::string& more) {
    return error_of(
        [&] { parse_model_config(R"({"model_type": "headlight", )" + more + "}", "config.json"); });
  };
  CHECK(error_with(R"("norm": "post")") == "no error");
  CHECK(error_with(R"("norm": "none")") ==
        "config.json: norm: expected pre, post or output, got 'none'");
  CHECK(error_with(R"("heads_per_layer": 3)") == "config.json: heads_per_layer: expected a list");
  CHECK(error_with(R"("heads_per_layer": [1.5])") ==
        "config.json: heads_per_layer: expected whole numbers");
}

TEST_CASE(
    "head settings that equal GPT-2's defaults are dropped for export and others are refused") {
  GptConfig config{
      .n_layer = 2, .n_head = 2, .n_embd = 8, .heads_per_layer = {2, 2}, .head_width = 4};
  CHECK(contains(error_of([&] { require_exportable(config); }), "these heads cannot be expressed"));
  simplify_heads(config);
  CHECK(config.heads_per_layer.empty());
  CHECK(config.head_width == 0);
  CHECK(error_of([&] { require_exportable(config); }) == "no error");

  config.heads_per_layer = {2, 1};
  simplify_heads(config);
  CHECK(config.heads_per_layer == std::vector<Index>{2, 1});
  config.heads_per_layer.clear();
  config.norm = NormPosition::post;
  CHECK(contains(error_of([&] { require_exportable(config); }), "norm = post cannot be expressed"));
}

TEST_CASE("every combination of configuration keys is read back from its folder", "[io]") {
  const TemporaryFolder folder;
  for (int number = 0; number < 100; ++number) {
    const GptConfig config = drawn_config(number);
    INFO(described(number, config));
    const Gpt gpt(config, 1);
    spread_weights(gpt);
    const fs::path directory = folder.path() / std::to_string(number);
    fs::create_directories(directory);
    write_model_files(directory, gpt, build_char_tokenizer("ab"));
    std::vector<std::string> lines;
    const std::unique_ptr<Gpt> read =
        load_weights(directory, {.warn = [&](const std::string& line) { lines.push_back(line); }});
    CHECK(lines.empty());
    const Batch batch = make_batch({drawn_tokens(number, config)});
    CHECK(same_bits(read->logits(batch), gpt.logits(batch)));
  }
}
}  // namespace model_directory_test
