#include <sys/stat.h>

#include "support/hostile_safetensors.h"
#include "support/test.h"

TEST_CASE("a malicious safetensors file is refused in one line before memory is taken for it") {
  const TemporaryFolder folder;
  const fs::path path = folder / "bad.safetensors";
  const std::vector<test::HostileFile> files = test::hostile_safetensors();
  for (const test::HostileFile& file : files) {
    CAPTURE(file.name);
    write_bytes(path, file.bytes);
    const StorageStatistics before = storage_statistics();
    const std::string error = error_of([&] { read_safetensors(path); });
    const StorageStatistics after = storage_statistics();
    CAPTURE(error);
    CHECK(error.starts_with(path.string() + ": "));
    CHECK(contains(error, file.expected));
    CHECK_FALSE(contains(error, "\n"));
    CHECK(error.size() < 400);
    CHECK(error_of([&] { read_safetensors_header(path); }) == error);
    CHECK(after.system_allocations == before.system_allocations);
  }
  CHECK(files.size() > 100);
}

TEST_CASE("a safetensors file cut at any byte is refused") {
  const TemporaryFolder folder;
  const fs::path path = folder / "cut.safetensors";
  write_safetensors(path, {{"w", Tensor::arange(4, DType::float32)},
                           {"m", Tensor::ones({3}, DType::boolean)},
                           {"none", Tensor::empty({0})}});
  const std::string good = file_contents(path);
  REQUIRE(read_safetensors(path).size() == 3);
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    write_bytes(path, good.substr(0, length));
    CHECK(error_of([&] { read_safetensors(path); }).starts_with(path.string() + ": "));
  }
}

TEST_CASE("a flipped bit of a safetensors file gives tensors or an error and nothing else") {
  const TemporaryFolder folder;
  const fs::path path = folder / "flip.safetensors";
  write_safetensors(
      path, {{"w", Tensor::arange(4, DType::float32)}, {"m", Tensor::ones({3}, DType::boolean)}});
  const std::string good = file_contents(path);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(path, bad);
    refused += error_of([&] { read_safetensors(path); }) == "no error" ? 0 : 1;
  }
  CHECK(refused > good.size() * 8 / 3);  // most of the header; names and float data may change
}

TEST_CASE("folders, pipes, devices and missing files are refused without waiting") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto error = [](const fs::path& path) { return error_of([&] { read_safetensors(path); }); };
  CHECK(contains(error(folder.path()), "not a regular file"));
  CHECK(contains(error(folder / "pipe"), "not a regular file"));
  CHECK(contains(error("/dev/zero"), "not a regular file"));
  CHECK(contains(error(folder / "none"), "cannot open"));
}

TEST_CASE("the largest legal counts of tensors and axes are accepted") {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (int i = 0; i < 65536; ++i) {
    tensors.emplace_back("tensor." + std::to_string(i), Tensor::zeros({1}, DType::boolean));
  }
  write_safetensors(folder / "a", tensors);
  CHECK(read_safetensors_header(folder / "a").size() == 65536);
  tensors.emplace_back("one more", Tensor::scalar(1));
  CHECK(contains(error_of([&] { write_safetensors(folder / "b", tensors); }), "at most 65536"));
}
