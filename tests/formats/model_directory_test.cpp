#include "formats/families/families.h"
#include "support/models/drawn_config.h"
#include "support/saved_model.h"
#include "support/test.h"

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
  draw_normal(model->parameters(), 9, 0, 1);
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

std::string load_error(const fs::path& directory) {
  return error_of([&] { load_model(directory); });
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
  check_same_tensors(load_model(directory).model->parameters(), model->parameters());

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
    return convert(parameter_of(*model, name), dtype).to_vector();
  };
  for (const std::string name : {"wte.weight", "lm_head.weight", "h.1.attn.c_attn.weight"}) {
    INFO(name);
    CHECK(parameter_of(*loaded.model, name).to_vector() == expected(name, DType::bfloat16));
  }
  CHECK(parameter_of(*loaded.model, "h.1.mlp.c_fc.bias").to_vector() ==
        expected("h.1.mlp.c_fc.bias", DType::float32));
}

TEST_CASE("shards are read where their index says") {
  const TemporaryFolder folder;
  const auto model = model_of(false);
  const fs::path directory = written(folder, *model);
  const json index = shard(directory);
  check_same_tensors(load_model(directory).model->parameters(), model->parameters());

  const fs::path index_path = directory / "model.safetensors.index.json";
  const auto error_with = [&](const std::string& tensor, const json& file) {
    json changed = index;
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
    json changed = index;
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
  check_same_tensors(load_model(directory).model->parameters(), model->parameters());

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
  CHECK(parameter_of(*loaded.model, "h.1.mlp.c_proj.bias").to_vector()[2] == 0.5);
  CHECK(parameter_of(*loaded.model, "h.0.mlp.c_proj.bias").to_vector() ==
        std::vector<double>(9, 0.0));
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
  check_same_tensors(load_weights(directory, {.warn = warn})->parameters(), model->parameters());
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
    check_parts(load_error(directory), {"missing 'transformer.h.2.ln_1.weight', ", " and 8 more"});
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
  CHECK(parameter_of(*loaded.model, "wpe.weight").to_vector() ==
        slice(parameter_of(*model, "wpe.weight"), 0, 0, 4).to_vector());
}

TEST_CASE(
    "head settings that equal GPT-2's defaults are dropped for export and others are refused") {
  GptConfig config{.vocab_size = 5,
                   .n_layer = 2,
                   .n_head = 2,
                   .n_embd = 8,
                   .heads_per_layer = {2, 2},
                   .head_width = 4};
  CHECK(error_of([&] { require_exportable(config); }) ==
        "hf: heads_per_layer = 2,2 cannot be expressed: gpt2 has none");
  simplify_heads(config);
  CHECK(config.heads_per_layer.empty());
  CHECK(config.head_width == 0);
  CHECK(error_of([&] { require_exportable(config); }) == "no error");

  config.heads_per_layer = {2, 1};
  simplify_heads(config);
  CHECK(config.heads_per_layer == std::vector<Index>{2, 1});
  config.heads_per_layer.clear();
  config.norm = NormPosition::post;
  check_error([&] { require_exportable(config); }, {"norm = post cannot be expressed"});
}
