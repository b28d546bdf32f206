#include <sys/stat.h>

#include "support/bytes/pickle_writer.h"
#include "support/test.h"

namespace token_file_test {
// A tokenizer with a number of ids and nothing else.
class AnyTokenizer final : public Tokenizer {
 public:
  explicit AnyTokenizer(Index vocab_size) : Tokenizer(0), vocab_size_(vocab_size) {}
  std::string_view kind() const override { return "any"; }
  Index vocab_size() const override { return vocab_size_; }
  Ids encode_bytes(std::string_view, const EncodeOptions&) const override { return {}; }
  std::string token_bytes(std::int32_t) const override { return "x"; }

 private:
  Index vocab_size_;
};

// A file that is rewritten with new content.
class Written {
 public:
  const fs::path& path(const std::string& bytes) const {
    write_bytes(path_, bytes);
    return path_;
  }
  Ids read(const std::string& bytes, Index vocab_size,
           TokenDtype dtype = TokenDtype::automatic) const {
    return open_token_file(path(bytes), AnyTokenizer(vocab_size), dtype).ids.take();
  }
  std::string error(const std::string& bytes, Index vocab_size,
                    TokenDtype dtype = TokenDtype::automatic) const {
    return error_of([&] { read(bytes, vocab_size, dtype); });
  }

 private:
  TemporaryFolder folder_;
  fs::path path_ = folder_ / "a.bin";
};

std::string narrow(const Ids& ids) { return token_file_bytes(ids, TokenDtype::uint16); }
std::string wide(const Ids& ids) { return token_file_bytes(ids, TokenDtype::uint32); }

std::string header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  return wide({magic, version, count}) + std::string(1024 - 12, '\0');
}

const Ids kTen{5, 9, 3, 7, 1, 2, 8, 4, 6, 9};

TEST_CASE("a token file holds 16-bit ids with the low byte first") {
  const Written file;
  CHECK(file.read(std::string("\x01\x00\x00\x01\xFF\xFF", 6), 65536) == Ids{1, 256, 65535});
  CHECK(narrow({1, 256, 65535}) == std::string("\x01\x00\x00\x01\xFF\xFF", 6));
  CHECK(is_token_file("a/train.bin"));
  CHECK(is_token_file("a/TRAIN.BIN"));
  CHECK_FALSE(is_token_file("train.txt"));
}

TEST_CASE("a token file longer than one piece is read whole and in parts") {
  const Written file;
  auto expected = counted<std::int32_t>(600000, [&](std::int32_t i) { return i & 0x7FFF; });
  for (const TokenDtype dtype : {TokenDtype::uint16, TokenDtype::uint32}) {
    TokenSequence ids = open_token_file(file.path(token_file_bytes(expected, dtype)),
                                        AnyTokenizer(32768), TokenDtype::automatic)
                            .ids;
    REQUIRE(ids.size() == 600000);
    CHECK(ids.bytes_in_memory() == 0);
    CHECK(ids.tokens(599990, 10) == Ids(expected.end() - 10, expected.end()));
    CHECK(ids.tokens(12345, 9000) == Ids(expected.begin() + 12345, expected.begin() + 21345));
    CHECK((ids.take() == expected));
  }
}

TEST_CASE("32-bit ids are detected because every second half is 0 and a note reports it") {
  const Written file;
  const TokenFile found =
      open_token_file(file.path(wide(kTen)), AnyTokenizer(10), TokenDtype::automatic);
  CHECK(found.ids == TokenSequence(kTen));
  CHECK(found.dtype == TokenDtype::uint32);
  CHECK(contains(found.note, "a.bin: read as 32-bit ids, because every second 16-bit number is 0"));
  const TokenFile usual = open_token_file(file.path(narrow(kTen)), AnyTokenizer(10));
  CHECK(usual.ids == TokenSequence(kTen));
  CHECK(usual.note.empty());
}

TEST_CASE("a vocabulary above 65536 means 32-bit ids") {
  const Written file;
  CHECK(token_dtype_for(65536) == TokenDtype::uint16);
  CHECK(token_dtype_for(65537) == TokenDtype::uint32);
  const Ids ids{5, 70000, 128255};
  CHECK(file.read(wide(ids), 128256) == ids);
  CHECK(file.read(narrow(kTen), 128256, TokenDtype::uint16) == kTen);
  CHECK(contains(file.error(narrow(kTen), 128256),
                 "a.bin: token 0 has id 589829, but the tokenizer has the ids 0 to 128255 (the ids "
                 "were read as 32-bit ones because the vocabulary is above 65536; token_dtype = "
                 "uint16 reads 16-bit ones)"));
  CHECK(
      contains(file.error("abcdef", 128256), "6 bytes are not a whole number of 32-bit token ids"));
}

TEST_CASE("32-bit ids of a larger vocabulary are refused and named as such") {
  const Written file;
  Ids ids = kTen;
  ids[3] = 70000;
  CHECK(contains(file.error(wide(ids), 10),
                 "token 3 has id 70000, but the tokenizer has the ids 0 to "
                 "9 (the ids were read as 32-bit ones"));
  CHECK(contains(file.error(wide(ids), 65536), "token 3 has id 70000"));
}

TEST_CASE("a token file of unclear id width is refused unless the width is given") {
  const Written file;
  for (const std::string& bytes : {wide({5, 6}), std::string(64, '\0')}) {
    CHECK(contains(file.error(bytes, 10),
                   "a.bin: the ids can have 16 or 32 bits; set token_dtype = uint16 (as nanoGPT "
                   "writes them) or"));
    CHECK(file.read(bytes, 10, TokenDtype::uint16).size() == bytes.size() / 2);
    CHECK(file.read(bytes, 10, TokenDtype::uint32).size() == bytes.size() / 4);
  }
  CHECK(file.read(narrow({5, 6}), 10) == Ids{5, 6});
  CHECK(file.read(narrow({5, 0, 6}), 10) == Ids{5, 0, 6});  // not a whole number of 32-bit ids
  CHECK(file.read(narrow({5}), 10) == Ids{5});
}

TEST_CASE("the header of llm.c gives the width and number of the ids") {
  const Written file;
  CHECK(file.read(header(20240520, 1, 10) + narrow(kTen), 10) == kTen);
  CHECK(file.read(header(20240801, 7, 10) + wide(kTen), 10) == kTen);
  CHECK(file.read(header(20240801, 7, 2) + wide({5, 6}), 10) == Ids{5, 6});
  CHECK(file.read(header(20240520, 1, 0), 10).empty());
  CHECK(contains(file.error(header(20240520, 1, 9) + narrow(kTen), 10),
                 "expected 9 uint16 ids according to llm.c's header, got 20 bytes"));
  CHECK(contains(file.error(header(20240801, 7, -1) + wide(kTen), 10), "expected -1 uint32"));
  CHECK(contains(file.error(header(20240520, 2, 10) + narrow(kTen), 10),
                 "a.bin: version 2 of llm.c's token files is not supported, expected 1"));
  CHECK(contains(file.error(header(20240520, 1, 10) + narrow(kTen), 10, TokenDtype::uint32),
                 "expected token_dtype uint16, as in llm.c's header, got uint32"));
  CHECK(contains(file.error(header(20240801, 7, 10) + wide(kTen), 9),
                 "token 1 has id 9, but the tokenizer has the ids 0 to 8"));
}

TEST_CASE("an invalid token file is refused in one line") {
  const Written file;
  const std::string two = narrow({5, 9});
  CHECK(contains(file.error(two + "x", 10), "a.bin: 5 bytes are not a whole number of 16-bit"));
  CHECK(contains(file.error(two, 9),
                 "a.bin: token 1 has id 9, but the tokenizer has the ids 0 to 8"));
  CHECK(
      contains(file.error(wide({5, -1, 6}), 10, TokenDtype::uint32), "token 1 has id 4294967295"));
  CHECK(file.error(two, 10) == "no error");
  std::vector<std::string> notes;
  check_error(
      [&] { token_file_dataset(file.path(""), AnyTokenizer(9), TokenDtype::automatic, notes); },
      {"a.bin: is empty"});
  const TemporaryFolder folder;
  const auto error = [](const fs::path& path) {
    return error_of([&] { open_token_file(path, AnyTokenizer(9)); });
  };
  CHECK(contains(error(folder / "none.bin"), "No such file"));
  CHECK(contains(error(folder.path()), "not a regular file"));
  REQUIRE(::mkfifo((folder / "pipe.bin").c_str(), 0600) == 0);
  CHECK(contains(error(folder / "pipe.bin"), "not a regular file"));
  check_error([&] { parse_name<TokenDtype>("token_dtype", "16"); }, {"token_dtype", "got '16'"});
}

TEST_CASE("a sparse file of terabytes is neither copied nor read for its holes") {
  const Written file;
  const auto path = file.path(narrow({7, 8, 9, 7}));
  fs::resize_file(path, std::uintmax_t{1} << 42);
  const TokenFile found = open_token_file(path, AnyTokenizer(10), TokenDtype::uint16);
  CHECK(found.ids.size() == Index{1} << 41);
  CHECK(found.ids.tokens(2, 4) == Ids{9, 7, 0, 0});
  CHECK(found.ids.tokens((Index{1} << 41) - 2, 2) == Ids{0, 0});
  TokenSequence whole = found.ids;
  CHECK_THROWS_WITH(whole.take(),
                    contains_text("a.bin: does not fit in memory: its 2199023255552 tokens take"));
}

TEST_CASE("a token file that changes while it is in use is an error, not a signal") {
  using namespace std::chrono_literals;
  const Written file;
  const auto path = file.path(narrow(Ids(5000, 7)));
  const TokenFile found = open_token_file(path, AnyTokenizer(10));
  fs::resize_file(path, 1000);
  check_error([&] { found.ids.tokens(100, 3); },
              {"a.bin: changed while it was in use: it had 10000 bytes, now 1000"});
  file.path(narrow(Ids(5000, 10)));
  fs::last_write_time(path, fs::file_time_type::clock::now() + 1h);
  check_error([&] { found.ids.tokens(400, 200); },
              {"a.bin: changed while it was in use: another program has written"});
}

TEST_CASE("ids are refused if meta.pkl beside them maps them to other characters") {
  const TemporaryFolder folder;
  const CharTokenizer other({U'a', U'b', U'c'}, SpecialTokens::last);
  write_nanogpt_vocabulary(folder / "meta.pkl", other);
  const auto path = folder / "train.bin";
  write_bytes(path, narrow({0, 1, 2}));
  CHECK(open_token_file(path, other).ids == TokenSequence{0, 1, 2});
  CHECK(contains(error_of([&] { open_token_file(path, build_char_tokenizer("abc")); }),
                 "train.bin: made with another tokenizer: id 0 is 'a' in meta.pkl, '<|endoftext|>' "
                 "in the tokenizer"));
  CHECK(contains(error_of([&] { open_token_file(path, CharTokenizer({U'a'})); }), "id 0 is 'a'"));
  write_bytes(folder / "meta.pkl", "of somebody else");
  CHECK(open_token_file(path, build_char_tokenizer("abc")).ids.size() == 3);
}
}  // namespace token_file_test
