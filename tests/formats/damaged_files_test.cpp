#include <sys/stat.h>

#include "formats/nanogpt/nanogpt_file.h"
#include "headlight/formats/gguf/gguf.h"
#include "support/bytes/gguf_bytes.h"
#include "support/bytes/hostile_files.h"
#include "support/test.h"

namespace damaged_files_test {
// Files of tensors that are cut, changed or malicious, or that are no files.

struct TensorFile {
  std::string name;
  std::function<void(const fs::path&)> write;
  std::function<void(const fs::path&)> read;
  std::size_t cut_step = 1;  // bytes between two cuts
  double noticed = 0;        // least share of flipped bits that are refused
  std::vector<HostileFile> hostile = {};
};

const NamedTensors kTensors{{"w", Tensor::arange(4, DType::float32)},
                            {"m", Tensor::ones({3}, DType::boolean)},
                            {"none", Tensor::empty({0})}};

void read_as_gguf(const fs::path& path) {
  const GgufFile file(path);
  for (const GgufTensor& tensor : file.tensors()) {
    file.read(tensor);
  }
}

// Writes texts, a list, and tensors of three types, without the bytes behind the last.
void write_as_gguf(const fs::path& path) {
  write_gguf(path,
             {{"general.name", std::string("a")},
              {"flags", GgufArray(std::vector<bool>{true, false})},
              {"words", GgufArray(std::vector<std::string>{"b", "", "c"})}},
             {{"w", Tensor::ones({2, 3}), GgufType::f32},
              {"half", Tensor::ones({5}), GgufType::f16},
              {"blocks", Tensor::ones({32}), GgufType::q8_0}});
  fs::resize_file(path, static_cast<std::uintmax_t>(GgufFile(path).tensors().back().end));
}

const std::vector<TensorFile>& tensor_files() {
  static const std::vector<TensorFile> files{
      {"a.safetensors", [](const fs::path& path) { write_safetensors(path, kTensors); },
       [](const fs::path& path) { read_safetensors(path); }, 1, 0.3, hostile_safetensors()},
      {"a.gguf", write_as_gguf, read_as_gguf, 1, 0.25, hostile_gguf()},
      {"a.npz", [](const fs::path& path) { write_npz(path, kTensors); },
       [](const fs::path& path) { read_npz(path); }, 1, 0.25},
      {"ckpt.pt",
       [](const fs::path& path) {
         fs::copy_file(HEADLIGHT_SOURCE_DIR "/tests/formats/nanogpt/ckpt.pt", path);
       },
       [](const fs::path& path) { load_weights(path); }, 61}};
  return files;
}

// Checks that a file is refused in one short line with its path. Returns the line.
std::string refusal(const TensorFile& file, const fs::path& path) {
  const std::string error = error_of([&] { file.read(path); });
  INFO(error);
  CHECK(contains(error, "/" + file.name + ": "));
  CHECK_FALSE(contains(error, "\n"));
  CHECK(error.size() < 400);
  return error;
}

TEST_CASE("a file of tensors that is cut anywhere is refused") {
  for (const TensorFile& file : tensor_files()) {
    const TemporaryFolder folder;
    file.write(folder / file.name);
    CHECK_NOTHROW(file.read(folder / file.name));
    const std::string good = file_contents(folder / file.name);
    for (std::size_t length = 0; length < good.size(); length += file.cut_step) {
      CAPTURE(length);
      write_bytes(folder / file.name, good.substr(0, length));
      refusal(file, folder / file.name);
    }
  }
}

TEST_CASE("a flipped bit of a file gives tensors or an error and nothing else") {
  for (const TensorFile& file : tensor_files()) {
    const TemporaryFolder folder;
    file.write(folder / file.name);
    const std::string good = file_contents(folder / file.name);
    std::size_t refused = 0;
    for (std::size_t bit = 0; file.noticed > 0 && bit < good.size() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      write_bytes(folder / file.name, bad);
      refused += error_of([&] { file.read(folder / file.name); }) == "no error" ? 0 : 1;
    }
    CHECK(static_cast<double>(refused) >= file.noticed * 8 * static_cast<double>(good.size()));
  }
}

TEST_CASE("a malicious file is refused in one line before memory is taken for it") {
  for (const TensorFile& file : tensor_files()) {
    const TemporaryFolder folder;
    for (const HostileFile& hostile : file.hostile) {
      CAPTURE(hostile.name);
      write_bytes(folder / file.name, hostile.bytes);
      const StorageStatistics before = storage_statistics();
      const std::string error = refusal(file, folder / file.name);
      CHECK(contains(error, hostile.expected));
      CHECK(storage_statistics().system_allocations == before.system_allocations);
      if (file.name == "a.safetensors") {  // the header alone is refused with the same message
        CHECK(error_of([&] { read_safetensors_header(folder / file.name); }) == error);
      }
    }
  }
  CHECK(hostile_gguf().size() > 100);
  CHECK(hostile_safetensors().size() > 100);
}

TEST_CASE("folders, pipes, devices and missing files are refused without waiting") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const TensorFile& file : tensor_files()) {
    const auto error = [&](const fs::path& path) { return error_of([&] { file.read(path); }); };
    if (!file.hostile.empty()) {
      CHECK(contains(error(folder.path()), "not a regular file"));
      CHECK(contains(error(folder / "pipe"), "not a regular file"));
      CHECK(contains(error("/dev/zero"), "not a regular file"));
      CHECK(contains(error(folder / "none"), "cannot open"));
    }
  }
}

TEST_CASE("a sparse GGUF file gets no more memory than the limit for headers") {
  const TemporaryFolder folder;
  const fs::path path = folder / "sparse.gguf";
  const auto error = [&](std::uint32_t type, std::uint64_t count) {
    write_bytes(path,
                gguf_start(0, 1) + gguf_entry("k", 9, gguf_number(type) + gguf_number(count)));
    fs::resize_file(path, std::uintmax_t{1} << 40);
    return error_of([&] { GgufFile file(path); });
  };
  CHECK(contains(error(0, std::uint64_t{1} << 39), "the header is longer than 268435456 bytes"));
  CHECK(contains(error(8, (std::uint64_t{1} << 22) + 1), "4194305 texts, at most 4194304"));
}

TEST_CASE("a GGUF file that shrinks while it is open is an error and not a signal") {
  const TemporaryFolder folder;
  write_as_gguf(folder / "a.gguf");
  const GgufFile file(folder / "a.gguf");
  fs::resize_file(folder / "a.gguf", 40);
  for (const GgufTensor& tensor : file.tensors()) {
    CHECK(contains(error_of([&] { file.read(tensor); }), "is cut off"));
  }
}

TEST_CASE("the largest legal count of tensors is accepted", "[long]") {
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
}  // namespace damaged_files_test
