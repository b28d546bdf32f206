#include "headlight/io/token_file.h"

#include "io/temporary_folder.h"
#include "support/catch.h"

using namespace headlight;
using test::contains;
using test::error_of;
using test::TemporaryFolder;
using test::write_bytes;

TEST_CASE("a token file holds 16-bit ids with the low byte first") {
  const TemporaryFolder folder;
  write_bytes(folder / "train.bin", std::string("\x01\x00\x00\x01\xFF\xFF", 6));
  CHECK(read_token_file(folder / "train.bin", 65536) == std::vector<std::int32_t>{1, 256, 65535});
  CHECK(is_token_file("a/train.bin"));
  CHECK_FALSE(is_token_file("train.txt"));
}

TEST_CASE("a token file longer than one piece is read whole") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 150000; ++i) {
    bytes += static_cast<char>(i & 0xFF);
    bytes += static_cast<char>((i >> 8) & 0x7F);
  }
  write_bytes(folder / "long.bin", bytes);
  const std::vector<std::int32_t> ids = read_token_file(folder / "long.bin", 32768);
  REQUIRE(ids.size() == 150000);
  for (std::size_t i = 0; i < ids.size(); i += 997) {
    REQUIRE(ids[i] == static_cast<std::int32_t>(i & 0x7FFF));
  }
  CHECK(ids.back() == (149999 & 0x7FFF));
}

TEST_CASE("a token file that is larger than memory is refused before it is read") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "ids.bin";
  test::write_bytes(path, "ab");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 42);  // sparse
  CHECK_THROWS_WITH(read_token_file(path, 65536),
                    contains_text("does not fit in memory: its 2199023255552 tokens"));
}

TEST_CASE("a token file that does not fit is refused in one line") {
  const TemporaryFolder folder;
  const auto error_for = [&](const std::string& bytes, Index vocabulary) {
    write_bytes(folder / "a.bin", bytes);
    return error_of([&] { read_token_file(folder / "a.bin", vocabulary); });
  };
  const std::string two("\x05\x00\x09\x00", 4);
  CHECK(contains(error_for(two + "x", 10), "a.bin: 5 bytes are no whole number of 16-bit"));
  CHECK(contains(error_for("", 10), "a.bin: is empty"));
  CHECK(contains(error_for(two, 9), "a.bin: token 1 is 9, but the tokenizer has the ids 0 to 8"));
  CHECK(error_for(two, 10) == "no Error");
  CHECK(contains(error_of([&] { read_token_file(folder / "none.bin", 9); }), "No such file"));
  CHECK(contains(error_of([&] { read_token_file(folder.path(), 9); }), "not a regular file"));
}
