#include <sys/stat.h>

#include "storage/input_file.h"
#include "support/test.h"

namespace awkward_text_test {
// Awkward text files. tests/fuzz/README.md has the table of all kinds.

constexpr long kStreamed = 300 * 1024;  // KB

// Tokenizers and awkward files for the tests.
struct Texts {
  Texts() {
    save_tokenizer(folder.at("byte"), ByteTokenizer());
    BpeTrainer trainer({.vocab_size = 260});
    trainer.feed("the cat and the hat");
    save_tokenizer(folder.at("bpe"), BpeTokenizer(trainer.finish()));
  }
  // File of zero bytes that occupies no disk space.
  std::string sparse(const std::string& name, std::uintmax_t bytes) const {
    folder.write(name, "");
    fs::resize_file(folder.at(name), bytes);
    return folder.at(name);
  }
  ProgramResult encode(const std::string& tokenizer, const std::string& file) const {
    return run_headlight(words("tokenizer encode", folder.at(tokenizer), "--file", file, "--out",
                               folder.at("ids.bin")));
  }
  ProgramResult learn(const std::string& file) const {
    return run_headlight(
        words("tokenizer train --data", file, "--vocab_size 270 --out", folder.at("learned")));
  }
  ProgramResult train(const std::string& file) const {
    return run_headlight_within(
        1024 * 1024,
        words("train --data", file, "--out_dir", folder.at("run"),
              "--n_layer 1 --n_head 1 --n_embd 4 --block_size 4 --max_iters 1 --tokenizer byte "
              "--validation_fraction 0 --log_level error"));
  }

  TemporaryFolder folder;
};

void check_refused(const ProgramResult& result, const std::string& message) {
  CAPTURE(result.err);
  CHECK(result.exit_code == 2);
  const std::vector<std::string> lines = result.messages();
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], message));
}

void check_streamed(const ProgramResult& result) {
  CAPTURE(result.peak_kilobytes);
  CHECK((has_sanitizer() || result.peak_kilobytes < kStreamed));
}

TEST_CASE("ten gigabytes of zero bytes are refused in one line and little memory", "[long]") {
  const Texts texts;
  const std::string file = texts.sparse("large.txt", std::uintmax_t{10} << 30);
  const std::string place = file + ": no word ends within 134217728 bytes after byte 0";
  for (const ProgramResult& result : {texts.encode("bpe", file), texts.learn(file)}) {
    check_refused(result, place);
    check_streamed(result);
  }
  CHECK_FALSE(fs::exists(texts.folder.at("ids.bin")));
  if (!has_sanitizer()) {
    const ProgramResult trained = texts.train(file);
    check_refused(trained, file + ": does not fit in memory");
    check_streamed(trained);
  }
}

TEST_CASE("a text that fits in memory without its tokens is refused before it is encoded") {
  if (!has_sanitizer()) {
    const Texts texts;
    const std::string file = texts.sparse("tokens.txt", std::uintmax_t{300} << 20);
    check_refused(texts.train(file), file +
                                         ": its 314572800 tokens do not fit in memory: they take "
                                         "1258 MB, but ");
  }
}

TEST_CASE("one line of two gigabytes is refused in one line and little memory", "[long]") {
  const Texts texts;
  const std::string file = texts.sparse("line.txt", std::uintmax_t{2} << 30);
  const ProgramResult result = texts.learn(file);
  check_refused(result, file + ": no word ends");
  check_streamed(result);
  const ProgramResult list =
      run_headlight({"tokenizer", "encode", texts.folder.at("bpe"), file, "--jsonl", "text"});
  check_refused(list, file + ": line 1: longer than 134217728 bytes");
  check_streamed(list);
}

TEST_CASE("a tokenizer learns from and encodes a line of many megabytes with blanks in parts",
          "[long]") {
  const Texts texts;
  std::string line;
  while (line.size() < std::size_t{40} << 20) {
    line += "the cat and the hat ";
  }
  const std::string file = texts.folder.write("line.txt", line);
  for (const ProgramResult& result : {texts.learn(file), texts.encode("bpe", file)}) {
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    check_streamed(result);
  }
  Ids whole = open_tokenizer(texts.folder.at("bpe"))->encode(line.substr(0, 2000));
  whole.resize(whole.size() - 10);  // the cut changes the last ones
  const std::string ids = file_contents(texts.folder.at("ids.bin"));
  CHECK(ids.starts_with(token_file_bytes(whole, TokenDtype::uint16)));
}

TEST_CASE("a token file of 64 MiB trains in little memory", "[long]") {
  if (has_sanitizer()) {
    return;  // a sanitizer's memory would count too
  }
  const TemporaryFolder folder;
  const std::string bytes = repeated(std::string("a\0b\0c\0d\0e\0f\0\0\1", 14), (64 << 20) / 14);
  const auto train = [&](const std::string& name, const std::string& contents) {
    return run_headlight(words("train --data", folder.write(name + ".bin", contents), "--out_dir",
                               folder.at(name),
                               "--tokenizer byte --n_layer 1 --n_head 1 --n_embd 8 --block_size 16 "
                               "--max_iters 3 --eval_iters 2"));
  };
  const ProgramResult small = train("small", bytes.substr(0, 4000));
  const ProgramResult large = train("large", bytes);
  INFO(large.err);
  REQUIRE(small.exit_code == 0);
  REQUIRE(large.exit_code == 0);
  CHECK(large.peak_kilobytes < small.peak_kilobytes + 20000);
}

TEST_CASE("a file that shrinks while it is read is an error that says where it ends") {
  const TemporaryFolder folder;
  const std::string path = folder.write("text.txt", std::string(5000, 'x'));
  const InputFile file(path);
  CHECK(file.size() == 5000);
  fs::resize_file(path, 1000);
  std::vector<std::byte> bytes(5000);
  CHECK_THROWS_WITH(file.read(0, bytes), path + ": is cut off: it ends at byte 1000");
}

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
  const auto tokenizer = open_tokenizer(bpe);
  Ids expected;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("<|endoftext|>", begin), text.size());
    const auto part = tokenizer->encode(text.substr(begin, end - begin));
    expected.insert(expected.end(), part.begin(), part.end());
    if (end < text.size()) {
      expected.push_back(tokenizer->end_of_text());
    }
    begin = end < text.size() ? end + 13 : end;
  }
  CHECK(report["tokens"] == expected.size());
  // Printing them would take minutes.
  CHECK((file_contents(folder.at("train.bin")) == token_file_bytes(expected, TokenDtype::uint16)));
}
}  // namespace awkward_text_test
