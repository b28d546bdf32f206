#include <bit>

#include "support/test.h"

// Arrays in safetensors and npz files.

struct ArrayFile {
  std::string name;
  std::function<void(const fs::path&, const NamedTensors&)> write;
  std::function<NamedTensors(const fs::path&)> read;
};

std::vector<ArrayFile> array_files() {
  return {{"a.safetensors",
           [](const fs::path& path, const NamedTensors& all) { write_safetensors(path, all); },
           [](const fs::path& path) { return read_safetensors(path); }},
          {"a.npz", [](const fs::path& path, const NamedTensors& all) { write_npz(path, all); },
           [](const fs::path& path) { return read_npz(path); }}};
}

NamedTensors every_kind() {
  const float quiet = std::bit_cast<float>(0x7FC12345U);
  const float tiny = std::numeric_limits<float>::denorm_min();
  const Tensor rows = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  return {{"f32",
           Tensor::from<float>(
               {0.0F, -0.0F, 1.5F, quiet, tiny, -std::numeric_limits<float>::infinity()}, {2, 3})},
          {"f64", Tensor::from<double>({1.0 / 3.0, -1e300, std::nan("7"), 5e-324}, {4})},
          {"i32", Tensor::from<std::int32_t>({0, -1, 2147483647, -2147483647 - 1}, {2, 1, 2})},
          {"bool", Tensor::from<bool>({true, false, true}, {3, 1})},
          {"strided", rows.strided_view({3, 2}, {1, 3})},
          {"scalar", Tensor::scalar(2.5)},
          {"none", Tensor::empty({0})},
          {"no rows", Tensor::empty({3, 0, 2})},
          {"eight", Tensor::ones({1, 1, 1, 1, 1, 1, 1, 2})},
          {"blocks.0.attn/무게", Tensor::scalar(1, DType::int32)}};
}

TEST_CASE("arrays of every type, shape and name come back bit by bit") {
  for (const ArrayFile& file : array_files()) {
    const TemporaryFolder folder;
    file.write(folder / file.name, every_kind());
    CHECK(folder.names() == std::vector<std::string>{file.name});
    std::map<std::string, Tensor> read;
    for (const auto& [name, tensor] : file.read(folder / file.name)) {
      read[name] = tensor;
    }
    CHECK(read.size() == every_kind().size());
    for (const auto& [name, tensor] : every_kind()) {
      INFO(file.name << ": " << name);
      REQUIRE(read.contains(name));
      CHECK(same_bits(read.at(name), tensor));
    }
    file.write(folder / file.name, {});
    CHECK(file.read(folder / file.name).empty());
  }
}

TEST_CASE("bfloat16 keeps its bits in safetensors and becomes float32 in npz") {
  const TemporaryFolder folder;
  const Tensor values = Tensor::from<BFloat16>(
      {BFloat16(1.0F), BFloat16(-3.5F), BFloat16(std::bit_cast<float>(0x7FC12345U))}, {3});
  write_safetensors(folder / "a.safetensors", {{"bf16", values}});
  CHECK(same_bits(read_safetensors(folder / "a.safetensors")[0].second, values));
  write_npz(folder / "a.npz", {{"bf16", Tensor::from<BFloat16>({BFloat16(-1.5F)}, {1})}});
  CHECK(same_bits(read_npz(folder / "a.npz")[0].second, Tensor::from<float>({-1.5F}, {1})));
}
