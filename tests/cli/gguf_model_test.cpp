#include "headlight/formats/gguf/gguf_model.h"
#include "headlight/formats/gguf/gguf.h"
#include "support/bytes/gguf_bytes.h"
#include "support/test.h"

// Commands on a model in a GGUF file, with the real program.

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

TEST_CASE("a GGUF model that does not fit into memory is refused before it is read") {
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
          "[long]") {
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
