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
  ProgramResult train(const std::string& file, const std::string& log_level = "error") const {
    return run_headlight_within(1024 * 1024, {"train",
                                              "--data",
                                              file,
                                              "--out_dir",
                                              folder.at("run"),
                                              "--n_layer",
                                              "1",
                                              "--n_head",
                                              "1",
                                              "--n_embd",
                                              "4",
                                              "--block_size",
                                              "4",
                                              "--max_iters",
                                              "1",
                                              "--tokenizer",
                                              "byte",
                                              "--validation_fraction",
                                              "0",
                                              "--log_level",
                                              log_level});
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
  const std::string ids = file_contents(texts.folder.at("ids.bin"));
  const auto bpe = open_tokenizer(texts.folder.at("bpe"));
  const Ids whole = bpe->encode(line.substr(0, 2000));
  REQUIRE(ids.size() > 4000);
  for (std::size_t i = 0; i + 10 < whole.size(); ++i) {
    REQUIRE(static_cast<unsigned char>(ids[2 * i]) +
                256 * static_cast<unsigned char>(ids[2 * i + 1]) ==
            whole[i]);
  }
}

TEST_CASE("a token file of 64 MiB trains in little memory", "[long]") {
  if (has_sanitizer()) {
    return;  // a sanitizer's memory would count too
  }
  const TemporaryFolder folder;
  std::string ids = "abcdefgh";
  while (ids.size() < (std::size_t{32} << 20)) {
    ids += ids;
  }
  std::string bytes(2 * ids.size(), '\0');
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bytes[2 * i] = ids[i];
    bytes[2 * i + 1] = static_cast<char>(i % 7 == 0 ? 1 : 0);
  }
  for (std::size_t i = 0; i < ids.size(); i += 7) {
    bytes[2 * i] = '\0';
  }
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
}  // namespace awkward_text_test
