#include "runs/saved_run.h"
#include "support/test.h"

// Any damage to a checkpoint is detected, and an older one is used instead.

// A run with two checkpoints of different weights.
class DamagedRun {
 public:
  explicit DamagedRun(std::uint64_t seed = 1) : run_(seed) {
    for (const Index iteration : {Index{1}, Index{2}}) {
      run_.weight() = static_cast<float>(iteration);
      run_.save(iteration);
    }
  }

  fs::path older() const { return run_.folder / "step_00000001"; }
  fs::path newest() const { return run_.folder / "step_00000002"; }
  bool newest_is_whole() const {
    return error_of([&] { verify_manifest(newest()); }) == "no error";
  }

 private:
  SavedRun run_;
};

// Flips one bit of a file; the destructor restores it.
class FlippedBit {
 public:
  FlippedBit(fs::path path, std::size_t bit) : path_(std::move(path)), bit_(bit) { flip(); }
  ~FlippedBit() { flip(); }
  FlippedBit(const FlippedBit&) = delete;
  FlippedBit& operator=(const FlippedBit&) = delete;

 private:
  void flip() const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    const auto place = static_cast<std::streamoff>(bit_ / 8);
    file.seekg(place);
    const int byte = file.get();
    file.seekp(place);
    file.put(static_cast<char>(byte ^ (1 << (bit_ % 8))));
  }

  fs::path path_;
  std::size_t bit_;
};

// Returns the number of bytes before the data of a safetensors file.
std::size_t header_bytes(const std::string& file) {
  std::size_t length = 8;
  for (std::size_t i = 0; i < 8; ++i) {
    length += static_cast<std::size_t>(static_cast<unsigned char>(file[i])) << (8 * i);
  }
  return length;
}

constexpr std::array kTensorFiles{"model.safetensors", "optimizer.safetensors"};

TEST_CASE("a checkpoint whose headers or manifest are cut at any byte is found damaged") {
  const DamagedRun run;
  REQUIRE(run.newest_is_whole());
  std::size_t cuts = 0;
  const auto check_cut = [&](const fs::path& path, const std::string& good, std::size_t length) {
    CAPTURE(path.string(), length);
    write_bytes(path, good.substr(0, length));
    CHECK_FALSE(run.newest_is_whole());
    ++cuts;
  };
  for (const char* name : kTensorFiles) {
    const fs::path path = run.newest() / name;
    const std::string good = file_contents(path);
    const std::size_t header = header_bytes(good);
    for (std::size_t length = 0; length <= header; ++length) {
      check_cut(path, good, length);
    }
    const RandomStream random{7, 1};
    for (std::uint64_t i = 0; i < 200; ++i) {
      check_cut(path, good, header + random.below(i, good.size() - header));
    }
    write_bytes(path, good);
  }
  const fs::path manifest = run.newest() / "MANIFEST.json";
  const std::string good = file_contents(manifest);
  // Without its last byte, a line end, the manifest has the same content.
  for (std::size_t length = 0; length + 1 < good.size(); ++length) {
    check_cut(manifest, good, length);
  }
  write_bytes(manifest, good);
  CHECK(run.newest_is_whole());
  CHECK(cuts > 2000);
}

TEST_CASE("a flipped bit in any file of a checkpoint is found", "[long]") {
  const DamagedRun run;
  std::size_t undetected = 0;
  std::size_t flips = 0;
  const auto flip = [&](const fs::path& path, std::size_t bit) {
    const FlippedBit flipped(path, bit);
    undetected += run.newest_is_whole() ? 1 : 0;
    ++flips;
  };
  const RandomStream random{7, 2};
  for (const char* name : kTensorFiles) {
    const fs::path path = run.newest() / name;
    const std::string good = file_contents(path);
    const std::size_t header = header_bytes(good);
    for (std::size_t bit = 0; bit < 8 * header; ++bit) {
      flip(path, bit);
    }
    for (std::uint64_t i = 0; i < 1000; ++i) {
      flip(path, 8 * header + random.below(i, 8 * (good.size() - header)));
    }
  }
  for (const char* name : {"MANIFEST.json", "state.json"}) {
    const fs::path path = run.newest() / name;
    for (std::size_t bit = 0; bit < 8 * fs::file_size(path); ++bit) {
      flip(path, bit);
    }
  }
  CHECK(flips > 20000);
  CHECK(undetected == 0);
  CHECK(run.newest_is_whole());
}

TEST_CASE("files exchanged between checkpoints and runs are found") {
  const DamagedRun run(1);
  const DamagedRun other(2);
  std::size_t exchanged = 0;
  for (const fs::path& source : {run.older(), other.newest()}) {
    for (const auto& entry : fs::directory_iterator(source)) {
      const fs::path target = run.newest() / entry.path().filename();
      const std::string good = file_contents(target);
      const std::string foreign = file_contents(entry.path());
      CAPTURE(entry.path().string());
      write_bytes(target, foreign);
      CHECK(run.newest_is_whole() == (foreign == good));
      exchanged += foreign == good ? 0 : 1;
      write_bytes(target, good);
    }
  }
  CHECK(exchanged >= 4);  // at least weights and manifest
  CHECK(run.newest_is_whole());
}
