#include "storage/input_file.h"
#include "support/test.h"

TEST_CASE("an input file reads any part of itself") {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "abcdef");
  const InputFile file(folder / "a");
  CHECK(file.size() == 6);
  std::string part(3, '\0');
  file.read(2, std::as_writable_bytes(std::span<char>(part)));
  CHECK(part == "cde");
  file.read(6, {});
  const auto beyond = [&] { file.read(4, std::as_writable_bytes(std::span<char>(part))); };
  CHECK(error_of(beyond) == (folder / "a").string() + ": is cut off: it ends at byte 6");
}

TEST_CASE("a file that shrinks after it was opened is an error") {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "abcdef");
  const InputFile file(folder / "a");
  fs::resize_file(folder / "a", 2);
  std::string part(6, '\0');
  const auto read = [&] { file.read(0, std::as_writable_bytes(std::span<char>(part))); };
  CHECK(contains(error_of(read), "ends at byte 2"));
}

TEST_CASE("a text file is read whole up to the given length") {
  const TemporaryFolder folder;
  write_bytes(folder / "a", std::string("a\0b\n", 4));
  CHECK(read_whole_file(folder / "a", 4) == std::string("a\0b\n", 4));
  CHECK(error_of([&] { read_whole_file(folder / "a", 3); }) ==
        (folder / "a").string() + ": 4 bytes, at most 3 are accepted");
  write_bytes(folder / "a", "");
  CHECK(read_whole_file(folder / "a", 0).empty());
  CHECK(contains(error_of([&] { read_whole_file(folder.path(), 9); }), "not a regular file"));
}
