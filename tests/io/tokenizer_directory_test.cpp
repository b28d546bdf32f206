#include "headlight/io/tokenizer_directory.h"

#include <nlohmann/json.hpp>

#include "headlight/base/error.h"
#include "headlight/io/gguf_model.h"
#include "headlight/io/model_directory.h"
#include "headlight/text/byte_tokenizer.h"
#include "support/catch.h"
#include "support/program.h"
#include "text/byte_characters.h"

namespace tokenizer_directory_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

// Ids 0 ... 255 are the bytes, then <|endoftext|> and "ab".
std::string vocab_json() {
  nlohmann::json vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab[byte_name(std::string(1, static_cast<char>(byte)))] = byte;
  }
  vocab["<|endoftext|>"] = 256;
  vocab["ab"] = 257;
  return vocab.dump();
}

}  // namespace

TEST_CASE("a folder without tokenizer.json is read from vocab.json and merges.txt") {
  const ScratchFolder directory;
  directory.write("vocab.json", vocab_json());
  CHECK_THROWS_WITH(load_tokenizer(directory.path()), contains_text("merges.txt"));
  directory.write("merges.txt", "#version: 0.2\na b\n");
  const auto tokenizer = load_tokenizer(directory.path());
  CHECK(tokenizer->kind() == "bpe");
  CHECK(tokenizer->encode("abc") == std::vector<std::int32_t>{257, 'c'});
  directory.write("tokenizer.json", "{}");
  CHECK_THROWS_WITH(load_tokenizer(directory.path()),
                    contains_text("tokenizer.json: key \"model\" is missing"));
}

TEST_CASE("a folder without a tokenizer is refused for lack of tokenizer.json") {
  const ScratchFolder directory;
  CHECK_THROWS_WITH(load_tokenizer(directory.path()), contains_text("tokenizer.json"));
}

TEST_CASE("a chat template stays with the tokenizer from folder to folder and through GGUF") {
  const std::string text = "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}{% endfor %}";
  ByteTokenizer tokenizer;
  tokenizer.set_chat_template(text);
  const ScratchFolder folder;
  save_tokenizer(folder.path() / "hf", tokenizer);
  const auto from_folder = load_tokenizer(folder.path() / "hf");
  CHECK(from_folder->chat_template() == text);
  const Gpt model({.vocab_size = 257, .block_size = 8, .n_layer = 1, .n_head = 1, .n_embd = 32,
                   .position = PositionKind::learned});
  write_gguf_model(folder.path() / "m.gguf", model, *from_folder);
  const auto from_gguf = load_tokenizer(folder.path() / "m.gguf");
  CHECK(from_gguf->chat_template() == text);
  fs::create_directories(folder.path() / "again");
  write_model_files(folder.path() / "again", model, *from_gguf);
  CHECK(load_tokenizer(folder.path() / "again")->chat_template() == text);
}

}  // namespace tokenizer_directory_test
