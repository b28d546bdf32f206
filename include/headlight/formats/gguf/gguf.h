#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

class InputFile;

// GGUF, the file format of ggml and llama.cpp: metadata, then the table of tensors, then their
// elements, little endian. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

// A list value. The index of an alternative is its type number in the file. Type 9, a list of
// lists, is refused.
using GgufArray =
    std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                 std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                 std::vector<float>, std::vector<bool>, std::vector<std::string>, std::monostate,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;

// The value of one key. The index of an alternative is its type number in the file.
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                               std::uint32_t, std::int32_t, float, bool, std::string, GgufArray,
                               std::uint64_t, std::int64_t, double>;

// Keys and values in the order of the file. Keys are unique.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

// Storage types of tensor elements, with ggml's type numbers. From q8_0 on, a block of 32 elements
// (K types and IQ4_XS: 256) has common scales.
enum class GgufType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  bf16 = 30,
  q8_0 = 8,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq4_nl = 20,
  iq4_xs = 23,
};

template <>
inline constexpr auto kChoices<GgufType> =
    std::to_array<Choice<GgufType>>({{"F32", GgufType::f32},
                                     {"F16", GgufType::f16},
                                     {"BF16", GgufType::bf16},
                                     {"Q8_0", GgufType::q8_0},
                                     {"Q4_0", GgufType::q4_0},
                                     {"Q4_1", GgufType::q4_1},
                                     {"Q5_0", GgufType::q5_0},
                                     {"Q5_1", GgufType::q5_1},
                                     {"Q2_K", GgufType::q2_k},
                                     {"Q3_K", GgufType::q3_k},
                                     {"Q4_K", GgufType::q4_k},
                                     {"Q5_K", GgufType::q5_k},
                                     {"Q6_K", GgufType::q6_k},
                                     {"IQ4_NL", GgufType::iq4_nl},
                                     {"IQ4_XS", GgufType::iq4_xs}});

// One entry of the tensor table.
struct GgufTensor {
  std::string name;
  GgufType type = GgufType::f32;
  Shape shape = {};  // row-major: the file's sizes in reverse order
  Index begin = 0;   // first byte of the elements, from the start of the file
  Index end = 0;
  std::size_t part = 0;  // index of the file, for a model that is split into files
};

// Everything in a file except the elements. The maps hold indices into the vectors.
struct GgufHeader {
  std::uint32_t version = 0;
  GgufMetadata metadata = {};
  std::map<std::string, std::size_t, std::less<>> keys = {};
  std::vector<GgufTensor> tensors = {};  // in table order
  std::map<std::string, std::size_t, std::less<>> names = {};

  // Returns the value of a key; null if there is none.
  const GgufValue* find_value(std::string_view key) const;
};

// An open GGUF file. Reads tensors on demand; several threads may read at once.
class GgufFile {
 public:
  // Opens a file and checks its header (version 2 or 3). If it is the first part of a split model,
  // NAME-00001-of-00003.gguf, opens the other parts beside it, too: metadata() is that of the first
  // part, tensors() lists all parts. Checks declared sizes against the file before allocating
  // memory. Throws Error, naming file, key or tensor and reason, for a file that does not follow
  // the format, other element types, overlapping tensors, an axis of 0, more than 4 axes, more than
  // 65,536 tensors or keys, an alignment above 1 MiB, lists of more than 4,194,304 texts, a header
  // of more than 256 MiB, a part that is missing or of another model, and a path to any part but
  // the first.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const;
  std::uint32_t version() const { return header_.version; }
  const GgufMetadata& metadata() const { return header_.metadata; }
  const std::vector<GgufTensor>& tensors() const { return header_.tensors; }

  // Returns the value of a key, or the tensor of a name; null if there is none.
  const GgufValue* find_value(std::string_view key) const { return header_.find_value(key); }
  const GgufTensor* find_tensor(std::string_view name) const;

  // Returns all elements as float32, bit for bit as in ggml's reference, except for NaN.
  Tensor read(const GgufTensor& tensor) const;
  // Overwrites the elements of `target`, a contiguous tensor of the same shape, in its own type.
  void read_into(const GgufTensor& tensor, Tensor& target) const;
  // Reads bytes of the elements, from byte `first` on.
  void read_bytes(const GgufTensor& tensor, Index first, std::span<std::byte> bytes) const;
  // Returns rows `first` to `first` + `count` as float32 [count, C]. C is the last axis; rows run
  // over all other axes. Throws Error if there are fewer rows, and for a tensor without axes.
  Tensor read_rows(const GgufTensor& tensor, Index first, Index count) const;

 private:
  void add_part(const std::filesystem::path& path);

  std::vector<std::shared_ptr<const InputFile>> files_;  // in the order of the parts
  GgufHeader header_;
};

// True for a path that ends in .gguf and is not a directory.
bool is_gguf_file(const std::filesystem::path& path);

// A tensor and its storage type: F32, F16, BF16, Q8_0, Q6_K, Q5_K, Q4_K, Q5_1, Q5_0 or Q4_0. Q8_0
// is rounded like ggml's reference, quantize_row_q8_0_ref. Scales of the other integers are those
// with the least weighted squared error of a search.
struct GgufSource {
  std::string name;
  Tensor tensor;  // float32, float64 or bfloat16; converted to float32 first
  GgufType type = GgufType::f32;
  // Weight of each column's squared error in the search, at least 0; empty: all are equal.
  std::vector<float> importance = {};
};

// Writes a file of version 3, replacing it in one step (see replace_file). Aligns elements to
// metadata's general.alignment (a uint32), or to 32 bytes without one.
// Throws Error for everything that GgufFile refuses, names of more than 63 bytes (llama.cpp's
// limit), other storage types, rows that are not a whole number of blocks, values that F16 or Q8_0
// cannot hold, and a failed write. Calls `progress` with the written share of the elements.
void write_gguf(
    const std::filesystem::path& path, const GgufMetadata& metadata,
    const std::vector<GgufSource>& tensors,
    const std::function<void(double share)>& progress = [](double) {});

}  // namespace headlight
