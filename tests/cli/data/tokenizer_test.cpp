#include "support/test.h"

// `headlight tokenizer encode` of long files. sessions/tokenizer.txt has the rest.

std::string small_corpus() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "Mina has a red kite. \"Fly!\" said Mina.\n\n미나는 연을 봐요.\n\n";
    text += std::to_string(i) + " birds sing (softly) near the river.\n\n";
  }
  return text;
}

// Trains a tokenizer of 300 tokens. Returns its folder.
std::string small_tokenizer(const TemporaryFolder& folder) {
  const std::string data = folder.write("corpus.txt", small_corpus());
  output_of(words("tokenizer train --data", data, "--vocab_size 300 --out", folder.at("bpe"),
                  "--log_level error"));
  return folder.at("bpe");
}

// Ids of a file of little-endian 16-bit numbers.
std::vector<int> uint16_ids(const std::string& path) {
  const std::string bytes = file_contents(path);
  std::vector<int> ids;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    ids.push_back(static_cast<unsigned char>(bytes[i]) +
                  256 * static_cast<unsigned char>(bytes[i + 1]));
  }
  return ids;
}

TEST_CASE("a long file encoded in parts gives the same ids as its whole text", "[long]") {
  const TemporaryFolder folder;
  const std::string bpe = small_tokenizer(folder);
  // Longer than one part of 4 MiB, with a special token and white space of all kinds.
  std::string text;
  while (text.size() < 9 * 1024 * 1024) {
    text += small_corpus() + "<|endoftext|>  \t\n\n x" + std::to_string(text.size()) + "  ";
  }
  const std::string file = folder.write("long.txt", text);
  const json report = json::parse(output_of(
      {"tokenizer", "encode", bpe, "--file", file, "--out", folder.at("train.bin"), "--json"}));
  CHECK(report["bytes"] == text.size());
  CHECK(report["file"] == folder.at("train.bin"));
  const std::vector<int> ids = uint16_ids(folder.at("train.bin"));
  CHECK(report["tokens"] == ids.size());
  const auto tokenizer = open_tokenizer(bpe);
  std::vector<int> expected;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("<|endoftext|>", begin), text.size());
    const auto part = tokenizer->encode(text.substr(begin, end - begin));
    expected.insert(expected.end(), part.begin(), part.end());
    if (end < text.size()) {
      expected.push_back(tokenizer->end_of_text());
    }
    begin = end < text.size() ? end + 13 : end;
  }
  CHECK((ids == expected));  // printing them would take minutes
}
