#include <sys/stat.h>

#include "support/test.h"

std::string verify_error(const fs::path& directory) {
  return error_of([&] { verify_manifest(directory); });
}

// A directory with one file "a.txt" ("abc") and the given text as its manifest.
std::string error_of_manifest(const std::string& text) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.txt", "abc");
  write_bytes(folder / "MANIFEST.json", text);
  return verify_error(folder.path());
}

TEST_CASE("the manifest lists size and XXH3-64 of every file, sorted by name") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  write_bytes(folder / "sub" / "b.txt", "");
  write_bytes(folder / "a.txt", "");
  CHECK_FALSE(has_manifest(folder.path()));
  write_manifest(folder.path());
  CHECK(has_manifest(folder.path()));
  // 2d06800538d394c2 is the published XXH3-64 of no bytes with seed 0.
  CHECK(file_contents(folder / "MANIFEST.json") == R"({
  "files": {
    "a.txt": {
      "size": 0,
      "xxh3_64": "2d06800538d394c2"
    },
    "sub/b.txt": {
      "size": 0,
      "xxh3_64": "2d06800538d394c2"
    }
  },
  "version": 1
}
)");
  CHECK(verify_error(folder.path()) == "no error");
}

TEST_CASE("verifying names the first file that is missing, resized or changed") {
  const TemporaryFolder folder;
  write_bytes(folder / "a.txt", "abc");
  write_bytes(folder / "b.txt", std::string(3000000, 'b'));
  write_manifest(folder.path());
  REQUIRE(verify_error(folder.path()) == "no error");
  const std::string manifest = (folder / "MANIFEST.json").string();
  const std::string a = (folder / "a.txt").string();
  SECTION("missing") {
    fs::remove(folder / "a.txt");
    CHECK(verify_error(folder.path()) == a + ": missing, but listed in " + manifest);
  }
  SECTION("resized") {
    write_bytes(folder / "a.txt", "abcd");
    CHECK(verify_error(folder.path()) == a + ": 4 bytes, but " + manifest + " lists 3");
  }
  SECTION("changed") {
    write_bytes(folder / "a.txt", "abd");
    CHECK(contains(verify_error(folder.path()), a + ": its checksum is "));
  }
  SECTION("changed in the last byte of a large file") {
    write_bytes(folder / "b.txt", std::string(2999999, 'b') + "c");
    CHECK(
        contains(verify_error(folder.path()), (folder / "b.txt").string() + ": its checksum is "));
  }
  SECTION("swapped for a symlink to the same content") {
    fs::rename(folder / "a.txt", folder / "c.txt");
    fs::create_symlink("c.txt", folder / "a.txt");
    CHECK(verify_error(folder.path()) == a + ": not a regular file");
  }
  SECTION("swapped for a pipe") {
    fs::remove(folder / "a.txt");
    REQUIRE(::mkfifo(a.c_str(), 0600) == 0);
    CHECK(verify_error(folder.path()) == a + ": not a regular file");
  }
  SECTION("files that are not listed are ignored") {
    write_bytes(folder / "README", "hello");
    CHECK(verify_error(folder.path()) == "no error");
  }
}

TEST_CASE("a manifest that leaves out a required file is refused") {
  const TemporaryFolder folder;
  write_bytes(folder / "a.txt", "abc");
  write_manifest(folder.path());
  write_bytes(folder / "b.txt", "abc");
  const auto error = [&](std::string_view required) {
    const std::array files{std::string_view("a.txt"), required};
    return error_of([&] { verify_manifest(folder.path(), files); });
  };
  CHECK(error("a.txt") == "no error");
  for (const std::string name : {"b.txt", "c.txt"}) {
    CHECK(error(name) == (folder / "MANIFEST.json").string() + ": files: expected an entry for " +
                             name + ", got none; use a complete copy of " + folder.path().string());
  }
}

TEST_CASE("every single flipped bit of a committed directory is detected") {
  const TemporaryFolder folder;
  const fs::path directory = folder / "step";
  AtomicDirectory writer(directory);
  write_safetensors(
      writer.path() / "model.safetensors",
      {{"w", Tensor::arange(6, DType::float32)}, {"mask", Tensor::ones({3}, DType::boolean)}});
  write_file(writer.path() / "state.json", "{\"step\": 7}\n");
  writer.commit();
  REQUIRE(verify_error(directory) == "no error");
  int flips = 0;
  int undetected = 0;
  for (const std::string name : {"model.safetensors", "state.json", "MANIFEST.json"}) {
    const std::string good = file_contents(directory / name);
    REQUIRE_FALSE(good.empty());
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      write_bytes(directory / name, bad);
      ++flips;
      undetected += verify_error(directory) == "no error" ? 1 : 0;
    }
    write_bytes(directory / name, good);
  }
  CHECK(flips > 3000);
  CHECK(undetected == 0);
  CHECK(verify_error(directory) == "no error");
}

TEST_CASE("a manifest cut at any byte is refused") {
  const TemporaryFolder folder;
  write_bytes(folder / "a.txt", "abc");
  write_manifest(folder.path());
  const std::string good = file_contents(folder / "MANIFEST.json");
  for (std::size_t length = 0; length + 1 < good.size();
       ++length) {  // the last byte is a line break
    CAPTURE(length);
    write_bytes(folder / "MANIFEST.json", good.substr(0, length));
    CHECK(verify_error(folder.path()) != "no error");
  }
}

TEST_CASE("an invalid manifest is an error that names the reason") {
  const std::string entry = R"({"size": 3, "xxh3_64": "78af5f94892f3950"})";
  CHECK(error_of_manifest(R"({"version": 1, "files": {"a.txt": )" + entry + "}}") == "no error");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "invalid JSON"},
      {"[]", "has no version"},
      {R"({"files": {}})", "has no version"},
      {R"({"version": 2, "files": {}})", "version 2, expected 1"},
      {R"({"version": "1", "files": {}})", "version \"1\", expected 1"},
      {R"({"version": 1})", "expected exactly version and files"},
      {R"({"version": 1, "files": []})", "expected exactly version and files"},
      {R"({"version": 1, "files": {}, "more": 1})", "expected exactly version and files"},
      {R"({"version": 1, "files": {"a.txt": 3}})", "must have a size and an xxh3_64 alone"},
      {R"({"version": 1, "files": {"a.txt": {"size": 3}}})",
       "must have a size and an xxh3_64 alone"},
      {R"({"version": 1, "files": {"a.txt": {"size": 3, "xxh3_64": "", "x": 1}}})",
       "must have a size"},
      {R"({"version": 1, "files": {"a.txt": {"size": -3, "xxh3_64": ""}}})", "must have a size"},
      {R"({"version": 1, "files": {"a.txt": {"size": 3, "xxh3_64": 5}}})", "must have a size"},
      {R"({"version": 1, "files": {"a.txt": )" + entry + R"(, "a.txt": )" + entry + "}}",
       "duplicate"},
      {R"({"version": 1, "files": {"": )" + entry + "}}", "unusable file name ''"},
      {R"({"version": 1, "files": {".": )" + entry + "}}", "not a regular file"},
      {R"({"version": 1, "files": {"../a.txt": )" + entry + "}}", "unusable file name"},
      {R"({"version": 1, "files": {"x/../../a.txt": )" + entry + "}}", "unusable file name"},
      {R"({"version": 1, "files": {"/etc/passwd": )" + entry + "}}", "unusable file name"},
      {R"({"version": 1, "files": {"a.txt\u0000": )" + entry + "}}", "unusable file name"},
      {R"({"version": 1, "files": {"b\nc": )" + entry + "}}", "b\\x0ac: missing"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text, expected);
    const std::string error = error_of_manifest(text);
    CAPTURE(error);
    CHECK(contains(error, expected));
    CHECK_FALSE(contains(error, "\n"));
  }
}

TEST_CASE("a directory without a manifest is distinguished from a damaged one") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_manifest(folder.path()));
  CHECK_FALSE(has_manifest(folder / "none"));
  CHECK(
      contains(verify_error(folder.path()), "cannot open " + (folder / "MANIFEST.json").string()));
  fs::create_directory(folder / "MANIFEST.json");
  CHECK_FALSE(has_manifest(folder.path()));
}

TEST_CASE("writing a second manifest is refused") {
  const TemporaryFolder folder;
  write_manifest(folder.path());
  CHECK(verify_error(folder.path()) == "no error");
  CHECK(contains(error_of([&] { write_manifest(folder.path()); }), "File exists"));
}
