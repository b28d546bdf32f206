#include <sys/stat.h>

#include "support/hostile_gguf.h"
#include "support/hostile_safetensors.h"
#include "support/test.h"

namespace hostile_files_test {
// Malicious files given to the real program.

constexpr long kAddressSpace = 512 * 1024;  // KB

// Model directory. Each test replaces its weights.
class Victim {
 public:
  Victim() {
    fs::create_directory(directory());
    const CharTokenizer tokenizer = build_char_tokenizer("abcdefgh");
    const Gpt model({.vocab_size = tokenizer.vocab_size(),
                     .block_size = 6,
                     .n_layer = 1,
                     .n_head = 2,
                     .n_embd = 4});
    write_model_files(directory(), model, tokenizer);
  }

  fs::path directory() const { return folder_.path() / "model"; }
  fs::path weights() const { return directory() / "model.safetensors"; }
  ProgramResult generate() const {
    return run_headlight_within(kAddressSpace,
                                {"generate", directory().string(), "--prompt", "ab", "--n", "2"});
  }

 private:
  TemporaryFolder folder_;
};

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
}

// Checks for one error line that names the file, exit code 2 and no output.
void check_refused(const Victim& victim, const ProgramResult& result, const std::string& expected) {
  CAPTURE(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  const std::vector<std::string> lines = result.messages();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].rfind("error: " + victim.weights().string() + ": ", 0) == 0);
  CHECK(lines[0].find(expected) != std::string::npos);
}

TEST_CASE("the program refuses every malicious safetensors file in half a gigabyte", "[cli]") {
  const Victim victim;
  REQUIRE(victim.generate().exit_code == 0);
  double slowest = 0;
  std::string slowest_name;
  for (const test::HostileFile& file : test::hostile_safetensors()) {
    CAPTURE(file.name);
    write_bytes(victim.weights(), file.bytes);
    const auto begin = std::chrono::steady_clock::now();
    check_refused(victim, victim.generate(), file.expected);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (seconds.count() > slowest) {
      slowest = seconds.count();
      slowest_name = file.name;
    }
  }
  WARN("slowest of them, the start of the program included: " << slowest_name << ", " << slowest
                                                              << " s");
}

TEST_CASE("the program refuses every malicious GGUF file in half a gigabyte", "[cli]") {
  const TemporaryFolder folder;
  const std::string path = folder.at("bad.gguf");
  for (const test::HostileFile& file : test::hostile_gguf()) {
    CAPTURE(file.name);
    write_bytes(path, file.bytes);
    const ProgramResult result = run_headlight_within(kAddressSpace, {"info", path});
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    const std::vector<std::string> lines = result.messages();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].rfind("error: " + path + ": ", 0) == 0);
    CHECK(lines[0].find(file.expected) != std::string::npos);
  }
}

TEST_CASE("weights that contradict the configuration are refused naming a tensor", "[cli]") {
  const Victim victim;
  const NamedTensors good = read_safetensors(victim.weights());
  const auto changed = [&](const std::string& name, const Tensor& tensor) {
    NamedTensors tensors = good;
    const auto place = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const auto& item) { return item.first == name; });
    REQUIRE(place != tensors.end());
    tensor.defined() ? void(place->second = tensor) : void(tensors.erase(place));
    write_safetensors(victim.weights(), tensors);
    return victim.generate();
  };
  const std::string positions = "transformer.wpe.weight";
  check_refused(victim, changed(positions, Tensor::zeros({4, 6})),
                positions + ": expected shape [6, 4] according to config.json, got [4, 6]");
  check_refused(victim, changed(positions, Tensor::zeros({24})), "got [24]");
  check_refused(victim, changed(positions, Tensor()), "missing '" + positions + "'");
  check_refused(victim, changed("transformer.h.0.attn.c_attn.weight", Tensor::zeros({12, 4})),
                "expected shape [4, 12]");
  NamedTensors more = good;
  more.emplace_back("transformer.h.1.ln_1.weight", Tensor::zeros({4}));
  write_safetensors(victim.weights(), more);
  check_refused(victim, victim.generate(), "unexpected 'transformer.h.1.ln_1.weight'");
  CHECK(changed(positions, Tensor::zeros({6, 4}, DType::bfloat16)).exit_code == 0);
}

TEST_CASE("a model whose weights are not numbers generates nothing", "[cli]") {
  const Victim victim;
  struct Weights {
    double value;
    const char* complaint;
  };
  for (const auto& [value, complaint] :
       {Weights{std::nan(""), "wte.weight contains values that are not finite"},
        Weights{HUGE_VAL, "wte.weight contains values that are not finite"},
        Weights{3e38, "NaN"}}) {
    NamedTensors tensors = read_safetensors(victim.weights());
    for (auto& [name, tensor] : tensors) {
      tensor = Tensor::full(tensor.shape(), value);
    }
    write_safetensors(victim.weights(), tensors);
    const ProgramResult result = victim.generate();
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(complaint) != std::string::npos);
  }
}

TEST_CASE("weights that are a folder, a pipe or a device are refused without waiting", "[cli]") {
  const Victim victim;
  fs::remove(victim.weights());
  REQUIRE(::mkfifo(victim.weights().c_str(), 0600) == 0);
  check_refused(victim, victim.generate(), "not a regular file");
  fs::remove(victim.weights());
  fs::create_directory(victim.weights());
  check_refused(victim, victim.generate(), "not a regular file");
  fs::remove(victim.weights());
  fs::create_symlink("/dev/zero", victim.weights());
  check_refused(victim, victim.generate(), "not a regular file");
}

TEST_CASE("a configuration that asks for more than its weights hold takes no memory", "[cli]") {
  const Victim victim;
  const std::string config = file_contents(victim.directory() / "config.json");
  const std::string key = "\"n_embd\": 4,";
  REQUIRE(config.find(key) != std::string::npos);
  std::string large = config;
  large.replace(config.find(key), key.size(), "\"n_embd\": 1000000,");
  write_bytes(victim.directory() / "config.json", large);
  check_refused(victim, victim.generate(), "according to config.json");
}

TEST_CASE("a configuration of more heads than any model has is refused in half a gigabyte",
          "[cli]") {
  const Victim victim;
  const std::string config = victim.directory() / "config.json";
  write_bytes(config, R"({"model_type": "llama", "num_hidden_layers": 100, "head_dim": 2,
                          "num_attention_heads": 16777216})");
  const std::string toml = (victim.directory() / "a.toml").string();
  write_bytes(toml, "n_layer = 100\nn_head = 16777216\nn_embd = 16777216\nvocab_size = 9\n");
  const std::string complaint =
      ": expected at most 1048576 heads in all layers, got 100 x 16777216\n";
  const auto error_of_info = [](const std::string& path) {
    const ProgramResult result = run_headlight_within(kAddressSpace, {"info", path});
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK(error_of_info(victim.directory().string()) ==
        "error: " + config + ": num_attention_heads" + complaint);
  CHECK(error_of_info(toml).ends_with("n_head" + complaint));
}

TEST_CASE("a configuration of deeply nested tables is refused at any depth", "[cli]") {
  const TemporaryFolder folder;
  std::string key = "a";
  while (key.size() < 1000000) {
    key += ".a";
  }
  for (const std::string& text : {key + " = 1\n", "[" + key + "]\nb = 1\n"}) {
    const std::string file = folder.write("deep.toml", text);
    const ProgramResult result = run_headlight({"train", file});
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err == "error: " + file + ": line 1: more than 64 dots\n");
  }
}
}  // namespace hostile_files_test
