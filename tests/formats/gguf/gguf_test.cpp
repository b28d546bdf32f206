#include <bit>

#include "headlight/formats/gguf/gguf.h"
#include "support/bytes/gguf_bytes.h"
#include "support/test.h"

namespace gguf_test {
// A file made by gguf.quants of llama.cpp's Python package; see tools/parity/check_gguf.py.
const GgufFile& frozen_blocks() {
  static const GgufFile file(HEADLIGHT_SOURCE_DIR "/tests/formats/gguf/blocks.gguf");
  return file;
}

const GgufTensor& named(const GgufFile& file, const std::string& name) {
  const GgufTensor* tensor = file.find_tensor(name);
  require(tensor != nullptr, "no tensor ", name);
  return *tensor;
}

// True if all numbers have the same bits or are both NaN.
bool same_bits(const Tensor& a, const Tensor& b) {
  bool same = a.shape() == b.shape();
  for (Index i = 0; same && i < a.numel(); ++i) {
    const float x = a.data<float>()[i];
    const float y = b.data<float>()[i];
    same = std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  }
  return same;
}

template <class T>
bool holds(const GgufFile& file, std::string_view key, const T& value) {
  const GgufValue* found = file.find_value(key);
  return found != nullptr && *found == GgufValue(value);
}

std::string list_of(std::uint32_t type, std::uint64_t count, const std::string& elements) {
  return gguf_number(type) + gguf_number(count) + elements;
}

// A key with a value of each type, and the bytes of that value.
struct TypedKey {
  std::string key;
  std::uint32_t type;
  std::string bytes;
  GgufValue value;
};

std::vector<TypedKey> every_type() {
  return {{"u8", 0, "\xFF", std::uint8_t{255}},
          {"i8", 1, "\x80", std::int8_t{-128}},
          {"u16", 2, gguf_number(std::uint16_t{65535}), std::uint16_t{65535}},
          {"i16", 3, gguf_number(std::int16_t{-2}), std::int16_t{-2}},
          {"u32", 4, gguf_number(std::uint32_t{4294967295}), std::uint32_t{4294967295}},
          {"i32", 5, gguf_number(std::int32_t{-3}), std::int32_t{-3}},
          {"f32", 6, gguf_number(0.1F), 0.1F},
          {"no", 7, std::string(1, '\0'), false},
          {"text", 8, gguf_text("a\n\xFF"), std::string("a\n\xFF")},
          {"bools", 9, list_of(7, 2, std::string("\x01\0", 2)),
           GgufArray(std::vector<bool>{true, false})},
          {"texts", 9, list_of(8, 2, gguf_text("") + gguf_text("한")),
           GgufArray(std::vector<std::string>{"", "한"})},
          {"bytes", 9, list_of(0, 2, "\x01\x02"), GgufArray(std::vector<std::uint8_t>{1, 2})},
          {"none", 9, list_of(6, 0, ""), GgufArray(std::vector<float>{})},
          {"u64", 10, gguf_number(~std::uint64_t{0}), ~std::uint64_t{0}},
          {"i64", 11, gguf_number(std::int64_t{-4}), std::int64_t{-4}},
          {"f64", 12, gguf_number(0.1), 0.1}};
}

TEST_CASE("every type of GGUF's metadata is read and written") {
  const TemporaryFolder folder;
  std::string entries;
  GgufMetadata metadata;
  for (const TypedKey& entry : every_type()) {
    entries += gguf_entry(entry.key, entry.type, entry.bytes);
    metadata.emplace_back(entry.key, entry.value);
  }
  for (const std::uint32_t version : {2U, 3U}) {
    write_bytes(folder / "a.gguf", gguf_start(0, every_type().size(), version) + entries);
    const GgufFile file(folder / "a.gguf");
    CHECK(file.version() == version);
    CHECK(file.tensors().empty());
    CHECK(file.metadata() == metadata);
    CHECK(holds(file, "i8", std::int8_t{-128}));
    CHECK(file.find_value("u") == nullptr);
  }
  write_gguf(folder / "b.gguf", metadata, {});
  CHECK(file_contents(folder / "b.gguf").starts_with(file_contents(folder / "a.gguf")));
}

TEST_CASE("lists of GGUF's metadata longer than a buffer are read") {
  const TemporaryFolder folder;
  std::string numbers;
  std::vector<std::int16_t> expected;
  for (int i = 0; i < 100000; ++i) {
    expected.push_back(static_cast<std::int16_t>(7 * i));
    numbers += gguf_number(expected.back());
  }
  write_bytes(folder / "a.gguf", gguf_start(0, 2) +
                                     gguf_entry("k", 9, list_of(3, 100000, numbers)) +
                                     gguf_entry("last", 0, "a"));
  const GgufFile file(folder / "a.gguf");
  CHECK(holds(file, "k", GgufArray(expected)));
  CHECK(holds(file, "last", std::uint8_t{'a'}));
}

TEST_CASE("tensors of a GGUF file have row-major sizes and the offsets in the header") {
  const TemporaryFolder folder;
  std::string bytes =
      gguf_file(gguf_start(3, 0) + gguf_tensor("b", {3, 2}, 0, 64) + gguf_tensor("a", {}, 0, 0) +
                    gguf_tensor("c", {32, 1, 2}, 2, 96),
                0);
  const auto start = static_cast<Index>(bytes.size());
  for (int i = 0; i < 24; ++i) {
    bytes += gguf_number(static_cast<float>(i));
  }
  bytes += std::string(36, '\0') + "rest";
  write_bytes(folder / "a.gguf", bytes);
  const GgufFile file(folder / "a.gguf");
  REQUIRE(file.tensors().size() == 3);
  const GgufTensor& b = file.tensors()[0];
  CHECK(b.name == "b");
  CHECK(b.shape == Shape{2, 3});
  CHECK(b.begin == start + 64);
  CHECK(b.end == start + 88);
  CHECK(file.read(b).to_vector() == std::vector<double>{16, 17, 18, 19, 20, 21});
  CHECK(file.read(named(file, "a")).item() == 0);
  CHECK(named(file, "c").type == GgufType::q4_0);
  CHECK(named(file, "c").shape == Shape{2, 1, 32});
  CHECK(named(file, "c").end == start + 132);
  CHECK(file.find_tensor("d") == nullptr);
}

TEST_CASE("the alignment of a GGUF file decides where the elements begin") {
  const TemporaryFolder folder;
  std::string bytes = gguf_start(1, 1) +
                      gguf_entry("general.alignment", 4, gguf_number(std::uint32_t{512})) +
                      gguf_tensor("a", {1}, 0, 512);
  bytes.resize(1024);
  write_bytes(folder / "a.gguf", bytes + gguf_number(2.5F));
  const GgufFile file(folder / "a.gguf");
  CHECK(file.tensors()[0].begin == 1024);
  CHECK(file.read(file.tensors()[0]).item() == 2.5);
}

TEST_CASE("blocks of every GGUF type decode to the numbers of gguf.quants bit for bit") {
  for (const Choice<GgufType>& type : kChoices<GgufType>) {
    const std::string name(type.name);
    CAPTURE(name);
    const GgufTensor& blocks = named(frozen_blocks(), name);
    CHECK(blocks.type == type.value);
    const Tensor expected = frozen_blocks().read(named(frozen_blocks(), name + " values"));
    CHECK(same_bits(frozen_blocks().read(blocks), expected));
  }
}

TEST_CASE("rows read from a GGUF tensor equal those of the whole tensor") {
  const TemporaryFolder folder;
  const Tensor tensor = convert(Tensor::arange(3 * 700 * 64), DType::float32);
  const auto type = GENERATE(GgufType::f32, GgufType::bf16, GgufType::q8_0);
  write_gguf(folder / "a.gguf", {},
             {{"t", tensor.strided_view({3, 700, 64}, {700 * 64, 64, 1}), type}});
  const GgufFile file(folder / "a.gguf");
  const GgufTensor& stored = file.tensors()[0];
  const Tensor all = file.read(stored);
  CHECK(all.shape() == Shape{3, 700, 64});
  const auto part = [&](Index first, Index count) {
    return same_bits(file.read_rows(stored, first, count),
                     all.strided_view({count, 64}, {64, 1}, 64 * first).clone());
  };
  CHECK(part(0, 2100));
  CHECK(part(699, 2));
  CHECK(part(1, 1500));
  CHECK(part(2099, 1));
  CHECK(file.read_rows(stored, 2100, 0).shape() == Shape{0, 64});
  for (const auto& [begin, rows] :
       std::vector<std::pair<Index, Index>>{{2100, 1}, {0, 2101}, {-1, 1}, {1, -1}}) {
    CAPTURE(begin, rows);
    check_error([&, first = begin, count = rows] { file.read_rows(stored, first, count); },
                {"tensor 't': rows "});
  }
}

TEST_CASE("a scalar of a GGUF file has no rows") {
  const TemporaryFolder folder;
  write_gguf(folder / "a.gguf", {}, {{"t", Tensor::scalar(3), GgufType::f32}});
  const GgufFile file(folder / "a.gguf");
  CHECK(file.read(file.tensors()[0]).item() == 3);
  check_error([&] { file.read_rows(file.tensors()[0], 0, 1); }, {"is a scalar"});
}
}  // namespace gguf_test
