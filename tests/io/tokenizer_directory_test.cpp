#include "headlight/io/tokenizer_directory.h"

#include <nlohmann/json.hpp>

#include "headlight/base/error.h"
#include "support/catch.h"
#include "support/program.h"
#include "text/byte_characters.h"

namespace tokenizer_directory_test {

using namespace headlight;

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

}  // namespace tokenizer_directory_test
