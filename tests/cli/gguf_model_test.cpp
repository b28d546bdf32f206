#include "headlight/formats/gguf/gguf_model.h"
#include "headlight/formats/gguf/gguf.h"
#include "support/bytes/gguf_bytes.h"
#include "support/saved_model.h"
#include "support/test.h"

// Commands on a model in a GGUF file, with the real program.

// A model with biases: export leaves out the biases that are zero.
std::unique_ptr<Gpt> biased_model() {
  std::unique_ptr<Gpt> gpt = lively_model(257, 32);
  for (auto& [name, parameter] : gpt->parameters()) {
    if (name.ends_with(".bias")) {
      parameter.fill(0.125);
    }
  }
  return gpt;
}

// Model directory, the equal GGUF file, and a text.
struct Material {
  Material() { output_of(words("export", model, "--to gguf --out", gguf)); }

  TemporaryFolder folder;
  std::string model = save_model(folder, "model", *biased_model());
  std::string gguf = folder.at("model.gguf");
  std::string text = folder.write("text.txt", "one line of text\nanother line\n\nthe third\nend\n");
};

// Writes a Llama file with half a billion parameters. The elements are a hole in the file.
std::string sparse_llama(const TemporaryFolder& folder) {
  constexpr std::uint64_t kWidth = 4096;
  constexpr std::uint64_t kTokens = 131072;
  const auto number = [](const std::string& key, std::uint32_t value) {
    return gguf_entry("llama." + key, 4, gguf_number(value));
  };
  std::string header = gguf_start(11, 8);
  header += gguf_entry("general.architecture", 8, gguf_text("llama"));
  header += number("context_length", 8) + number("embedding_length", kWidth);
  header += number("block_count", 1) + number("feed_forward_length", 32);
  header += number("attention.head_count", 1) + number("attention.key_length", 64);
  header += gguf_entry("llama.attention.layer_norm_rms_epsilon", 6, gguf_number(1e-5F));
  std::uint64_t end = 0;
  const auto add = [&](const std::string& name, std::uint64_t columns, std::uint64_t rows) {
    header += rows > 0 ? gguf_tensor(name + ".weight", {columns, rows}, 1, end)
                       : gguf_tensor(name + ".weight", {columns}, 0, end);
    end += rows > 0 ? 2 * columns * rows : 4 * columns;
  };
  add("token_embd", kWidth, kTokens);
  add("output_norm", kWidth, 0);
  add("blk.0.attn_norm", kWidth, 0);
  for (const char* name : {"q", "k", "v"}) {
    add(std::string("blk.0.attn_") + name, kWidth, 64);
  }
  add("blk.0.attn_output", 64, kWidth);
  add("blk.0.ffn_norm", kWidth, 0);
  add("blk.0.ffn_gate", kWidth, 32);
  add("blk.0.ffn_up", kWidth, 32);
  add("blk.0.ffn_down", 32, kWidth);
  const std::string bytes = gguf_file(header, 0);
  const std::string path = folder.write("sparse.gguf", bytes);
  fs::resize_file(path, bytes.size() + end);
  return path;
}

TEST_CASE("every command gives the same results for a GGUF file as for the model folder", "[cli]") {
  const Material given;
  const Arguments lines = words("--data", given.text, "--documents line");
  for (const auto& [command, options] : std::vector<std::pair<std::string, Arguments>>{
           {"eval", lines},
           {"heads", lines},
           {"ablate", lines},
           {"importance", lines},
           {"lens", lines},
           {"heads", {}},
           {"generate", words("--prompt one --seed 3 --weights int8")},
           {"eval", words("--data", given.text, "--weights bfloat16")},
           {"attribute", words("--text abcde")},
           {"lens", words("--text abcde")},
           {"patch", words("--clean abcde --corrupt axcde --answer f --wrong y")}}) {
    INFO(command);
    CHECK(output_of(changed({command, given.gguf}, options)) ==
          output_of(changed({command, given.model}, options)));
  }
  const auto maps = [&](const std::string& model, const std::string& out) {
    output_of(
        {"attention", model, "--text", "abc", "--out", given.folder.at(out), "--format", "npz"});
    return file_contents(given.folder.at(out + "/attention.npz"));
  };
  CHECK(maps(given.gguf, "b") == maps(given.model, "a"));
}

TEST_CASE("a model in a GGUF file can be pruned and trained further and exported", "[cli]") {
  const Material given;
  const auto exported = [&](const std::string& from, const std::string& to) {
    const std::string out = given.folder.at(from.ends_with("gguf") ? "b_" + to : "a_" + to);
    output_of({"export", from, "--to", to, "--out", out});
    return out;
  };
  const auto weights = [](const std::string& directory) {
    return file_contents(directory + "/model.safetensors");
  };
  CHECK(weights(exported(given.gguf, "hf")) == weights(exported(given.model, "hf")));
  CHECK(file_contents(given.folder.at("b_hf/tokenizer.json")) ==
        file_contents(given.folder.at("a_hf/tokenizer.json")));

  output_of(words("prune", given.gguf, "--keep 2 --data", given.text, "--documents line --out",
                  given.folder.at("pruned")));
  CHECK(fs::exists(given.folder.at("pruned/config.json")));

  const std::string run = given.folder.at("run");
  output_of(words("train --init_from", given.gguf, "--data", given.text, "--out_dir", run,
                  "--max_iters 0 --block_size 16 --batch_size 1"));
  const auto trained = load_weights(run);
  const auto start = load_weights(given.model);
  CHECK(trained->config().block_size == 16);
  CHECK(trained->parameters()[0].second.to_vector() == start->parameters()[0].second.to_vector());
}

TEST_CASE("export to GGUF names the settings that it cannot write", "[cli]") {
  const Material given;
  const std::string out = given.folder.at("out.gguf");
  const json report = report_of(words("export", given.gguf, "--to gguf --type q8_0 --out", out));
  CHECK(report["format"] == "gguf");
  CHECK(report["files"] == json::array({out}));
  CHECK(report["tensors"] == GgufFile(given.gguf).tensors().size());
  CHECK(report["warnings"].size() == 1);  // rows of the small model are no whole blocks
}

TEST_CASE("export calibrates the rounding of a GGUF file by a text", "[cli]") {
  const Material given;
  const std::string out = given.folder.at("out.gguf");
  const Arguments base = words("export", given.gguf, "--to gguf --type q4_0 --out", out);
  const auto file_with = [&](const Arguments& more) {
    output_of(changed(base, more));
    return file_contents(out);
  };
  const std::string calibrated = file_with({"--calibrate", given.text});
  const std::string plain = file_with({});
  CHECK(plain.size() == calibrated.size());
  CHECK(plain != calibrated);
  const std::string by_line = file_with({"--calibrate", given.text, "--documents", "line"});
  CHECK(by_line != calibrated);
  const std::string rows =
      given.folder.write("rows.jsonl",
                         "{\"body\": \"one line of text\"}\n{\"body\": \"another line\"}\n"
                         "{\"body\": \"the third\"}\n{\"body\": \"end\"}\n");
  CHECK(file_with({"--calibrate", rows, "--jsonl", "body"}) == by_line);
}

TEST_CASE("info describes a GGUF file as a model and as tensors", "[cli]") {
  const Material given;
  json of_file = report_of({"info", given.gguf});
  CHECK(of_file["format"] == "gguf");
  CHECK(of_file["tensors"].size() == GgufFile(given.gguf).tensors().size());
  for (const char* key : {"format", "tensors", "metadata", "elements"}) {
    of_file.erase(key);
  }
  CHECK(of_file == report_of({"info", given.model}));
  const std::string text = output_of({"info", given.gguf});
  CHECK(text.starts_with(output_of({"info", given.model})));
  CHECK(contains(text, "\ntoken_embd.weight  F32 [257, "));
}

TEST_CASE("a GGUF model that does not fit into memory is refused before it is read", "[cli]") {
  if (has_sanitizer()) {
    return;  // it needs more address space than any limit
  }
  const TemporaryFolder folder;
  const std::string path = sparse_llama(folder);
  constexpr long kAddressSpace = 1024 * 1024;  // KB
  const auto message = [&](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_headlight_within(kAddressSpace, arguments);
    CHECK(result.exit_code == 2);
    REQUIRE(result.messages().size() == 1);
    return result.messages()[0];
  };
  const std::string whole = message({"heads", path});
  CAPTURE(whole);
  CHECK(contains(whole, "parameters do not fit in memory: they take 2153 MB, but "));
  const std::string error = message({"generate", path, "--prompt", "a"});
  CAPTURE(error);
  CHECK(contains(error, "float32 weights do not fit in memory: they take 4306 MB, but "));
  CHECK(error.ends_with(" MB are free; int8 would fit"));
}

TEST_CASE("generation from a GGUF file of integers takes little more memory than the file",
          "[cli][long]") {
  if (has_sanitizer()) {
    return;
  }
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, Index width) {
    const std::string path = folder.at(name);
    const GptConfig config{
        .vocab_size = 257, .block_size = 32, .n_layer = 4, .n_head = 4, .n_embd = width};
    write_gguf_model(path, Gpt(config), ByteTokenizer(), {.type = GgufType::q8_0});
    return path;
  };
  const auto peak = [](const std::string& model, const std::string& weights) {  // MiB
    return report_of(words("bench generate --model", model, "--weights", weights,
                           "--prompt_tokens 3 --new_tokens 3 --rounds 1"))["peak_rss_mib"]
        .get<double>();
  };
  const std::string large = write("large.gguf", 512);
  const double file = static_cast<double>(fs::file_size(large)) / (1024 * 1024);
  const double rest = peak(write("small.gguf", 32), "stored");
  CHECK(file > 13);
  CHECK(peak(large, "stored") < rest + 1.5 * file);
  CHECK(peak(large, "int8") < rest + 2.5 * file);
  CHECK(peak(large, "float32") > rest + 6 * file);
}
