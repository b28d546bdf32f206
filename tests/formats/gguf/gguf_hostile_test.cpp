#include <sys/stat.h>

#include "headlight/formats/gguf/gguf.h"
#include "support/gguf_bytes.h"
#include "support/hostile_gguf.h"
#include "support/test.h"

namespace gguf_hostile_test {
void read_all(const fs::path& path) {
  const GgufFile file(path);
  for (const GgufTensor& tensor : file.tensors()) {
    file.read(tensor);
  }
}

// Returns a file with texts, a list, and tensors of three types.
std::string small_file(const TemporaryFolder& folder) {
  write_gguf(folder / "good",
             {{"general.name", std::string("a")},
              {"flags", GgufArray(std::vector<bool>{true, false})},
              {"words", GgufArray(std::vector<std::string>{"b", "", "c"})}},
             {{"w", Tensor::ones({2, 3}), GgufType::f32},
              {"half", Tensor::ones({5}), GgufType::f16},
              {"blocks", Tensor::ones({32}), GgufType::q8_0}});
  return file_contents(folder / "good");
}

TEST_CASE("a malicious GGUF file is refused in one line before memory is taken for it") {
  const TemporaryFolder folder;
  const fs::path path = folder / "bad.gguf";
  const std::vector<test::HostileFile> files = test::hostile_gguf();
  for (const test::HostileFile& file : files) {
    CAPTURE(file.name);
    write_bytes(path, file.bytes);
    const StorageStatistics before = storage_statistics();
    const std::string error = error_of([&] { read_all(path); });
    const StorageStatistics after = storage_statistics();
    CAPTURE(error);
    CHECK(error.starts_with(path.string() + ": "));
    CHECK(contains(error, file.expected));
    CHECK_FALSE(contains(error, "\n"));
    CHECK(error.size() < 400);
    CHECK(after.system_allocations == before.system_allocations);
  }
  CHECK(files.size() > 100);
}

TEST_CASE("a GGUF file cut at any byte before its last tensor's end is refused") {
  const TemporaryFolder folder;
  const fs::path path = folder / "cut.gguf";
  const std::string good = small_file(folder);
  const Index end = GgufFile(folder / "good").tensors().back().end;
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    write_bytes(path, good.substr(0, length));
    const std::string error = error_of([&] { read_all(path); });
    CHECK((error == "no error") == (static_cast<Index>(length) >= end));
    CHECK((error == "no error" || error.starts_with(path.string() + ": ")));
  }
}

TEST_CASE("a flipped bit of a GGUF file gives tensors or an error and nothing else") {
  const TemporaryFolder folder;
  const fs::path path = folder / "flip.gguf";
  const std::string good = small_file(folder);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(path, bad);
    refused += error_of([&] { read_all(path); }) == "no error" ? 0 : 1;
  }
  CHECK(refused > good.size() * 8 / 4);
}

TEST_CASE("a sparse GGUF file gets no more memory than the limit for headers") {
  const TemporaryFolder folder;
  const fs::path path = folder / "sparse.gguf";
  const auto error = [&](std::uint32_t type, std::uint64_t count) {
    write_bytes(path,
                test::gguf_start(0, 1) +
                    test::gguf_entry("k", 9, test::gguf_number(type) + test::gguf_number(count)));
    fs::resize_file(path, std::uintmax_t{1} << 40);
    return error_of([&] { GgufFile file(path); });
  };
  CHECK(contains(error(0, std::uint64_t{1} << 39), "the header is longer than 268435456 bytes"));
  CHECK(contains(error(8, (std::uint64_t{1} << 22) + 1), "4194305 texts, at most 4194304"));
}

TEST_CASE("a GGUF file that shrinks while it is open is an error and not a signal") {
  const TemporaryFolder folder;
  small_file(folder);
  const GgufFile file(folder / "good");
  fs::resize_file(folder / "good", 40);
  for (const GgufTensor& tensor : file.tensors()) {
    CHECK(contains(error_of([&] { file.read(tensor); }), "is cut off"));
  }
}

TEST_CASE("folders, pipes, devices and missing files are no GGUF files") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto error = [](const fs::path& path) { return error_of([&] { GgufFile file(path); }); };
  CHECK(contains(error(folder.path()), "not a regular file"));
  CHECK(contains(error(folder / "pipe"), "not a regular file"));
  CHECK(contains(error("/dev/zero"), "not a regular file"));
  CHECK(contains(error(folder / "none"), "cannot open"));
}
}  // namespace gguf_hostile_test
