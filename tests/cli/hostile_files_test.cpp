#include "support/bytes/hostile_files.h"
#include "support/test.h"

// Malicious files given to the real program.

// Checks that the program refuses each file under a name, in 512 MiB of address space, with one
// line that names the file.
void check_all_refused(const std::string& path, const std::vector<HostileFile>& files,
                       const Arguments& arguments) {
  for (const HostileFile& file : files) {
    CAPTURE(file.name);
    write_bytes(path, file.bytes);
    const ProgramResult result = run_headlight_within(512 * 1024, arguments);
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    REQUIRE(result.messages().size() == 1);
    CHECK(result.err.starts_with("error: " + path + ": "));
    CHECK(contains(result.err, file.expected));
  }
}

TEST_CASE("the program refuses every malicious safetensors file in half a gigabyte", "[long]") {
  const TemporaryFolder folder;
  const CharTokenizer tokenizer = build_char_tokenizer("abcdefgh");
  const Gpt model({.vocab_size = 10, .block_size = 6, .n_layer = 1, .n_head = 2, .n_embd = 4});
  write_model_files(folder.path(), model, tokenizer);
  const Arguments arguments = words("generate", folder.path(), "--prompt ab --n 2");
  REQUIRE(run_headlight_within(512 * 1024, arguments).exit_code == 0);
  check_all_refused(folder.at("model.safetensors"), hostile_safetensors(), arguments);
}

TEST_CASE("the program refuses every malicious GGUF file in half a gigabyte", "[long]") {
  const TemporaryFolder folder;
  check_all_refused(folder.at("bad.gguf"), hostile_gguf(), {"info", folder.at("bad.gguf")});
}
