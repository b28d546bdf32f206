#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
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

// A list under one key. The place of an alternative is the number of its type in the file; lists of
// lists (9) are refused.
using GgufArray =
    std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                 std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                 std::vector<float>, std::vector<bool>, std::vector<std::string>, std::monostate,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;

// What stands under one key; again the place of an alternative is the number of its type.
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                               std::uint32_t, std::int32_t, float, bool, std::string, GgufArray,
                               std::uint64_t, std::int64_t, double>;

// In the order of the file, every key once.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

// How the elements of a tensor are stored, with ggml's numbers. Types from q8_0 on in this list
// have blocks of elements with common scales: 32 elements, or 256 in the types with a K.
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
                                     {"Q6_K", GgufType::q6_k}});

// What the table says of one tensor.
struct GgufTensor {
  std::string name;
  GgufType type = GgufType::f32;
  Shape shape = {};  // row-major: the sizes of the file in reverse order
  Index begin = 0;   // of the elements, in bytes from the start of the file
  Index end = 0;
  std::size_t part = 0;  // of the files that a model is split into
};

// What a file says besides the elements. The maps hold places in the lists.
struct GgufHeader {
  std::uint32_t version = 0;
  GgufMetadata metadata = {};
  std::map<std::string, std::size_t, std::less<>> keys = {};
  std::vector<GgufTensor> tensors = {};  // in the order of the table
  std::map<std::string, std::size_t, std::less<>> names = {};
};

// An open file whose tensors are read when they are asked for, at their places and also by several
// threads at once.
class GgufFile {
 public:
  // Opens the first of the files that llama-gguf-split makes, NAME-00001-of-00003.gguf, with all
  // others beside it: metadata is that of the first, tensors are those of all. Reads and checks the
  // header (version 2 or 3). Memory is taken for what the file still holds and not for what a
  // number in it says. Throws Error, naming file, key or tensor and reason, for anything that does
  // not follow the format, other types of elements, tensors that overlap or have an axis of 0, more
  // than 4 axes, more than 65,536 tensors or keys, an alignment above 1 MiB, lists of more than
  // 4,194,304 texts, a header of more than 256 MiB, a part that is missing or of another model, and
  // any but the first part.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const;
  std::uint32_t version() const { return header_.version; }
  const GgufMetadata& metadata() const { return header_.metadata; }
  const std::vector<GgufTensor>& tensors() const { return header_.tensors; }

  // What stands under a key, or a tensor by its name; null when there is none.
  const GgufValue* find_value(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;

  // All elements as float32, with the bits that ggml's own reference gives them, except for those
  // of a NaN.
  Tensor read(const GgufTensor& tensor) const;
  // The same into the elements of a tensor of that shape, which lies in row-major order; its type
  // stays.
  void read_into(const GgufTensor& tensor, Tensor& target) const;
  // Rows `first` to `first` + `count` as float32 [count, C]; C is the last axis, rows are counted
  // through all others. Throws Error when there are fewer rows, or for a tensor without axes.
  Tensor read_rows(const GgufTensor& tensor, Index first, Index count) const;

 private:
  void add_part(const std::filesystem::path& path);

  std::vector<std::shared_ptr<const InputFile>> files_;  // in the order of the parts
  GgufHeader header_;
};

// True for a path that ends in .gguf and is no directory.
bool is_gguf_file(const std::filesystem::path& path);

// A tensor and how it is to be stored: as F32, F16, BF16 or Q8_0, which rounds as ggml's reference
// quantize_row_q8_0 does.
struct GgufSource {
  std::string name;
  Tensor tensor;  // float32, float64 or bfloat16, which become float32 first
  GgufType type = GgufType::f32;
};

// Writes a file of version 3, replacing it in one step (see replace_file). Elements are aligned to
// what metadata's general.alignment says (a uint32), else to 32 bytes.
// Throws Error for what GgufFile refuses, names of more than 63 bytes (llama.cpp's limit), another
// type, rows that are no whole number of blocks, values that F16 or Q8_0 cannot hold, and a failed
// write.
void write_gguf(const std::filesystem::path& path, const GgufMetadata& metadata,
                const std::vector<GgufSource>& tensors);

}  // namespace headlight
