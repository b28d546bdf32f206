#include "formats/adapter/adapter.h"
#include "support/rows.h"
#include "support/test.h"

GptConfig llama_config() {
  return llama_like({.vocab_size = 257,
                     .block_size = 16,
                     .n_layer = 2,
                     .n_head = 2,
                     .n_embd = 8,
                     .n_inner = 12,
                     .n_kv_head = 1});
}

// Writes a model and returns its folder.
fs::path base_model(const TemporaryFolder& folder, const GptConfig& config) {
  const fs::path path = folder.path() / "base";
  fs::create_directory(path);
  write_model_files(path, Gpt(config, 3), ByteTokenizer());
  return path;
}

// Gives a model an adapter whose updates are not zero.
Adapter adapt(Gpt& model, const fs::path& base, const AdaptedParts& adapted = {}) {
  Adapter adapter = plan_adapter(base, model.config(), {.rank = 2, .alpha = 3}, adapted);
  add_lora(model, adapter.modules(), adapter.options, {5, 0});
  draw_uniform(model.trainable_parameters(), 8, -0.5, 0.5);
  return adapter;
}

fs::path written(const TemporaryFolder& folder, const Adapter& adapter, const Gpt& model) {
  const fs::path path = folder.path() / "adapter";
  fs::create_directory(path);
  write_adapter(path, adapter, adapter_tensors(adapter, model));
  return path;
}

void replace(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = file_contents(file);
  REQUIRE(text.find(from) != std::string::npos);
  write_bytes(file, text.replace(text.find(from), from.size(), to));
}

double distance(const Gpt& a, const Gpt& b) {
  double largest = 0;
  for (const auto& [weight, tensor] : a.weights()) {
    if (is_hidden_matrix(weight)) {
      const auto x = a.weight(weight.part, weight.layer).to_vector();
      const auto y = b.weight(weight.part, weight.layer).to_vector();
      for (std::size_t i = 0; i < x.size(); ++i) {
        largest = std::max(largest, std::abs(x[i] - y[i]));
      }
    }
  }
  return largest;
}

GptConfig gpt2_config() {
  return {.vocab_size = 257, .block_size = 16, .n_layer = 2, .n_head = 2, .n_embd = 8};
}

// Heads of queries, keys and values are interleaved in the files of this family.
GptConfig neox_config() {
  GptConfig config = gpt2_config();
  config.position = PositionKind::rope;
  config.rope.width = 2;
  config.parallel_residual = true;
  config.tie_weights = false;
  config.activation = Activation::gelu_erf;
  config.bias = true;
  return config;
}

TEST_CASE("an adapter is opened as its model with the updates") {
  const GptConfig config = GENERATE(llama_config(), gpt2_config(), neox_config());
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, config);
  const auto model = load_weights(base);
  const Adapter adapter = adapt(*model, base);
  const fs::path path = written(folder, adapter, *model);
  CHECK(is_adapter(path));
  CHECK(distance(*load_weights(path), *model) < 1e-6);
  CHECK(distance(*load_weights(path, {.adapter = false}), *model) > 0.1);
  const LoadedModel loaded = load_model(path);  // the tokenizer is the base model's
  CHECK(loaded.tokenizer->vocab_size() == 257);
  SECTION("and read back into the updates") {
    const auto again = load_weights(base);
    add_lora(*again, adapter.modules(), adapter.options, {6, 0});
    read_adapter(path, adapter, *again);
    CHECK(distance(*again, *model) == 0);
  }
}

TEST_CASE("targets choose matrices by the names of the family") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  const Adapter adapter =
      plan_adapter(base, llama_config(), {}, {{LoraTarget::q, LoraTarget::down}});
  REQUIRE(adapter.rows.size() == 4);
  CHECK(adapter.rows[0].module == "model.layers.0.self_attn.q_proj");
  CHECK(adapter.rows[0].target.rows == 8);
  CHECK(adapter.rows[3].module == "model.layers.1.mlp.down_proj");
  CHECK(plan_adapter(base, llama_config(), {}, {}).rows.size() == 14);
}

TEST_CASE("an adapter of some layers names its matrices as PEFT does") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  const auto model = load_weights(base);
  const Adapter adapter = adapt(*model, base, {{LoraTarget::v, LoraTarget::o}, "layer.1-"});
  REQUIRE(adapter.rows.size() == 2);
  CHECK(adapter.rows[0].module == "model.layers.1.self_attn.v_proj");
  const fs::path path = written(folder, adapter, *model);
  const std::string names =
      "\"model.layers.1.self_attn.v_proj\",\n    \"model.layers.1.self_attn.o_proj\"\n";
  CHECK_THAT(file_contents(path / "adapter_config.json"), contains_text(names));
  CHECK(distance(*load_weights(path), *model) < 1e-6);
  CHECK(plan_adapter(base, llama_config(), {}, {{}, "attn"}).rows.size() == 8);
  CHECK_THROWS_WITH(plan_adapter(base, llama_config(), {}, {{LoraTarget::q}, "mlp"}),
                    contains_text("train: no matrix of lora_targets is in 'mlp'"));
  CHECK_THROWS_WITH(plan_adapter(base, llama_config(), {}, {{}, "wte"}),
                    contains_text("train: expected parts of the model"));
}

TEST_CASE("targets that the model cannot have are refused") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, gpt2_config());
  CHECK_THROWS_WITH(plan_adapter(base, gpt2_config(), {}, {{LoraTarget::gate}}),
                    contains_text("lora_targets: gate: the model has no such matrix"));
  CHECK_THROWS_WITH(plan_adapter(base, gpt2_config(), {}, {{LoraTarget::q, LoraTarget::v}}),
                    contains_text("expected q, k and v together"));
}

TEST_CASE("patterns of alpha and rsLoRA change the scale") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  const auto model = load_weights(base);
  const Adapter adapter = adapt(*model, base, {{LoraTarget::o}});
  const fs::path path = written(folder, adapter, *model);
  const auto scale_of = [&] {
    const Tensor before = load_weights(base)->weight(Part::attention_output, 0);
    const Tensor after = load_weights(path)->weight(Part::attention_output, 0);
    const Tensor whole = model->weight(Part::attention_output, 0);  // scale 1.5
    return 1.5 * (after.to_vector()[0] - before.to_vector()[0]) /
           (whole.to_vector()[0] - before.to_vector()[0]);
  };
  CHECK(scale_of() == Approx(1.5).epsilon(1e-4));
  const fs::path config = path / "adapter_config.json";
  replace(config, "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"self_attn.o_proj\": 8}");
  CHECK(scale_of() == Approx(4).epsilon(1e-4));
  replace(config, "\"use_rslora\": false", "\"use_rslora\": true");
  CHECK(scale_of() == Approx(8 / std::sqrt(2.0)).epsilon(1e-4));
}

TEST_CASE("adapters that do more than add to matrices are refused") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  const auto model = load_weights(base);
  const Adapter adapter = adapt(*model, base, {{LoraTarget::o}});
  const fs::path path = written(folder, adapter, *model);
  const fs::path file = path / "adapter_config.json";
  const auto config = json::parse(file_contents(file));
  check_rows("formats/adapter/config_changes.txt", [&](const Row& row) {
    write_bytes(file, changed_json(config, row.given).dump());
    return error_of([&] { load_weights(path); });
  });
}

TEST_CASE("adapters whose tensors do not fit are refused") {
  struct Fault {
    std::string message;
    std::function<void(NamedTensors&)> change;
  };
  const std::vector<Fault> faults{
      {"expected a name that begins with base_model.model.",
       [](auto& tensors) { tensors[0].first = "model.layers.0.other.lora_A.weight"; }},
      {"module 'model.layers.0.self_attn.x_proj': the base model has no such matrix",
       [](auto& tensors) {
         for (auto& [name, tensor] : tensors) {
           name.replace(name.find("o_proj"), 6, "x_proj");
         }
       }},
      {"expected lora_A [R, I] and lora_B [P, R]",
       [](auto& tensors) { tensors.erase(tensors.begin()); }},
      {"with a rank R of at least 1",
       [](auto& tensors) {
         tensors[0].second = Tensor::zeros({0, 8});
         tensors[1].second = Tensor::zeros({8, 0});
       }},
      {"after it is added, h.0.attn.c_proj.weight",  // the product is not finite
       [](auto& tensors) {
         tensors[0].second.fill(1e30);
         tensors[1].second.fill(1e30);
       }},
      {"expected lora_A [R, 8]",
       [](auto& tensors) {
         tensors[0].second = Tensor::zeros({2, 9});
       }},
      {"lora_A", [](auto& tensors) { tensors[0].second.fill(INFINITY); }}};
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  const auto model = load_weights(base);
  const Adapter adapter = adapt(*model, base, {{LoraTarget::o}});
  const fs::path path = written(folder, adapter, *model);
  for (const Fault& fault : faults) {
    NamedTensors tensors;
    for (const auto& [name, tensor] : adapter_tensors(adapter, *model)) {
      tensors.emplace_back(name, tensor.clone());
    }
    fault.change(tensors);
    write_safetensors(path / "adapter_model.safetensors", tensors);
    CHECK_THROWS_WITH(load_weights(path), contains_text(fault.message));
  }
}

TEST_CASE("an adapter holds the folder of its base and notices other weights there") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  fs::create_directory_symlink("base", folder.path() / "best");
  const auto model = load_weights(base);
  const Adapter adapter = adapt(*model, folder.path() / "best", {{LoraTarget::o}});
  CHECK(adapter.base == fs::canonical(base));
  const fs::path path = written(folder, adapter, *model);
  fs::rename(base, folder.path() / "moved");
  CHECK_THROWS_WITH(load_weights(path), contains_text("give the path of that model with --base"));
  CHECK(distance(*load_weights(path, {.base = folder.path() / "moved"}), *model) < 1e-6);
  fs::create_directory(base);
  write_model_files(base, Gpt(llama_config(), 4), ByteTokenizer());
  for (const LoadOptions& options : {LoadOptions{}, LoadOptions{.adapter = false}}) {
    CHECK_THROWS_WITH(load_weights(path, options),
                      contains_text("has other weights than when the adapter was trained"));
  }
  CHECK_THROWS_WITH(read_effective_config(path), contains_text("has other weights"));
}

TEST_CASE("an adapter of an adapter is refused") {
  const TemporaryFolder folder;
  const fs::path base = base_model(folder, llama_config());
  const auto model = load_weights(base);
  Adapter adapter = adapt(*model, base, {{LoraTarget::o}});
  const fs::path path = written(folder, adapter, *model);
  fs::copy(path, folder.path() / "second");
  replace(folder.path() / "second" / "adapter_config.json", base.string(), path.string());
  CHECK_THROWS_WITH(load_weights(folder.path() / "second"), contains_text("is an adapter itself"));
}
