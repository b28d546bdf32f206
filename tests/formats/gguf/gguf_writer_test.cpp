#include "headlight/formats/gguf/gguf.h"
#include "support/bytes/gguf_bytes.h"
#include "support/test.h"

std::string stored_bytes(const fs::path& path, const GgufTensor& tensor) {
  return file_contents(path).substr(static_cast<std::size_t>(tensor.begin),
                                    static_cast<std::size_t>(tensor.end - tensor.begin));
}

TEST_CASE("a tiny GGUF file has the expected bytes") {
  const TemporaryFolder folder;
  write_gguf(folder / "a.gguf", {{"general.architecture", std::string("none")}},
             {{"w", Tensor::from<float>({1, -2, 3, 4, 5, 6}, {2, 3}), GgufType::f16},
              {"b", Tensor::from<float>({0.5F}, {1}), GgufType::f32}});
  std::string expected =
      gguf_file(gguf_start(2, 1) + gguf_entry("general.architecture", 8, gguf_text("none")) +
                    gguf_tensor("w", {3, 2}, 1, 0) + gguf_tensor("b", {1}, 0, 32),
                0);
  for (const int half : {0x3C00, 0xC000, 0x4200, 0x4400, 0x4500, 0x4600}) {
    expected += gguf_number(static_cast<std::uint16_t>(half));
  }
  expected += std::string(20, '\0') + gguf_number(0.5F) + std::string(28, '\0');
  const bool same = file_contents(folder / "a.gguf") == expected;
  CHECK(same);
  CHECK(folder.names() == std::vector<std::string>{"a.gguf"});
}

TEST_CASE("numbers are stored in a GGUF file as gguf.quants does, bit for bit") {
  const TemporaryFolder folder;
  const fs::path fixture = HEADLIGHT_SOURCE_DIR "/tests/formats/gguf/blocks.gguf";
  const GgufFile frozen(fixture);
  const Tensor numbers = frozen.read(*frozen.find_tensor("numbers"));
  for (const GgufType type : {GgufType::f16, GgufType::bf16, GgufType::q8_0}) {
    const std::string name = "numbers as " + std::string(name_of(type));
    CAPTURE(name);
    write_gguf(folder / "a.gguf", {}, {{"t", numbers, type}});
    const GgufFile file(folder / "a.gguf");
    const bool same = stored_bytes(file.path(), file.tensors()[0]) ==
                      stored_bytes(fixture, *frozen.find_tensor(name));
    CHECK(same);
  }
}

TEST_CASE(
    "other floating-point types and strided tensors are converted to float32 before writing") {
  const TemporaryFolder folder;
  const Tensor rows = Tensor::from<double>({1, 2, 3, 4, 5, 0.1}, {2, 3});
  write_gguf(folder / "a.gguf", {{"general.alignment", std::uint32_t{8}}},
             {{"transposed", rows.strided_view({3, 2}, {1, 3}), GgufType::f32},
              {"bf16", Tensor::from<BFloat16>({BFloat16(-1.5F)}, {1}), GgufType::f16}});
  const GgufFile file(folder / "a.gguf");
  CHECK(file.read(file.tensors()[0]).to_vector() ==
        std::vector<double>{1, 4, 2, 5, 3, static_cast<double>(0.1F)});
  CHECK(file.read(file.tensors()[1]).item() == -1.5);
  CHECK(file.tensors()[1].begin == file.tensors()[0].end);
}

TEST_CASE("tensors that a GGUF file cannot hold are refused and the old file stays") {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.gguf";
  write_gguf(path, {}, {});
  const std::string before = file_contents(path);
  const auto error = [&](const GgufMetadata& metadata, const std::vector<GgufSource>& tensors) {
    std::string text = error_of([&] { write_gguf(path, metadata, tensors); });
    CHECK(text.starts_with(path.string() + ": "));
    CHECK(file_contents(path) == before);
    return text;
  };
  const auto tensor_error = [&](const Tensor& tensor, GgufType type = GgufType::f32) {
    return error({}, {{"t", tensor, type}});
  };
  const Tensor one = Tensor::ones({32});
  CHECK(contains(error({}, {{"t", one}, {"t", one}}), "two tensors are named 't'"));
  CHECK(contains(error({}, {{std::string(64, 'n'), one}}), "a name of 64 bytes"));
  CHECK(contains(error({}, {{"", one}}), "is empty"));
  CHECK(contains(tensor_error(Tensor()), "is undefined"));
  CHECK(contains(tensor_error(Tensor::arange(3)), "expected a floating type, got int32"));
  CHECK(contains(tensor_error(Tensor::ones({1, 1, 1, 1, 1})), "5 axes, at most 4"));
  CHECK(contains(tensor_error(Tensor::ones({2, 0})), "has an axis of 0"));
  CHECK(contains(tensor_error(one, GgufType::q4_1),
                 "expected a type that can be written, such as Q8_0, got Q4_1"));
  CHECK(contains(tensor_error(Tensor::ones({32, 3}), GgufType::q8_0), "rows of 3 elements"));
  CHECK(contains(tensor_error(Tensor::full({32}, 65520), GgufType::f16),
                 "tensor 't': contains 65520, which is too large for F16"));
  CHECK(contains(tensor_error(Tensor::full({32}, 3.4e38), GgufType::bf16), "too large for BF16"));
  CHECK(contains(tensor_error(Tensor::full({32}, 1e9), GgufType::q8_0), "too large for Q8_0"));
  CHECK(contains(tensor_error(Tensor::full({32}, kInfinity), GgufType::q8_0), "contains inf"));
  CHECK(contains(tensor_error(Tensor::full({32}, std::nan("")), GgufType::q8_0), "contains nan"));
  CHECK(contains(error({{"", true}}, {}), "key of 0 bytes"));
  CHECK(contains(error({{"a\nb", true}}, {}), "control character"));
  CHECK(contains(error({{"a", true}, {"a", true}}, {}), "metadata 'a' appears twice"));
  CHECK(contains(error({{"a", GgufArray(std::monostate())}}, {}), "a list of lists"));
  CHECK(contains(error({{"general.alignment", std::uint32_t{12}}}, {}), "power of two"));
  CHECK(contains(error({{"general.alignment", 32}}, {}), "expected a uint32, got a int32"));
  CHECK(folder.names() == std::vector<std::string>{"a.gguf"});
}

TEST_CASE("infinities are written to GGUF as float16") {
  const TemporaryFolder folder;
  constexpr auto infinity = static_cast<float>(kInfinity);
  write_gguf(folder / "a.gguf", {},
             {{"t", Tensor::from<float>({infinity, -infinity, 65504}, {3}), GgufType::f16}});
  const GgufFile file(folder / "a.gguf");
  CHECK(file.read(file.tensors()[0]).to_vector() ==
        std::vector<double>{kInfinity, -kInfinity, 65504});
}
