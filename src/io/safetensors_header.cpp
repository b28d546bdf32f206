#include "io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/json.h"
#include "base/printable.h"
#include "headlight/base/error.h"
#include "io/tensor_file.h"

namespace headlight {
namespace {

constexpr Index kLengthBytes = 8;

struct FileType {
  std::string_view name;
  Index bytes;
  DType dtype;  // of the tensor that it is read into
};

constexpr std::array<FileType, 10> kFileTypes{{
    {"F64", 8, DType::float64},
    {"F32", 4, DType::float32},
    {"F16", 2, DType::float32},
    {"BF16", 2, DType::bfloat16},
    {"I64", 8, DType::int32},
    {"I32", 4, DType::int32},
    {"I16", 2, DType::int32},
    {"I8", 1, DType::int32},
    {"U8", 1, DType::int32},
    {"BOOL", 1, DType::boolean},
}};

// The JSON text behind the 8 bytes of its length.
std::string read_header_text(const InputFile& file) {
  const std::string name = shown(file.path());
  require(file.size() >= kLengthBytes, name, ": ", file.size(),
          " bytes are too few for a safetensors file");
  std::array<std::byte, kLengthBytes> bytes{};
  file.read(0, bytes);
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  require(length <= static_cast<std::uint64_t>(kMaxSafetensorsHeader), name, ": header of ", length,
          " bytes, at most ", kMaxSafetensorsHeader, " are accepted");
  require(static_cast<Index>(length) <= file.size() - kLengthBytes, name, ": header of ", length,
          " bytes in a file of ", file.size());
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span<char>(text)));
  require(text.starts_with('{'), name, ": the header does not start with '{'");
  return text;
}

std::map<std::string, std::string> parse_metadata(const Json& metadata, const std::string& file) {
  require(metadata.is_object(), file, ": __metadata__ is not an object");
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : metadata.members()) {
    require(value.is_string(), file, ": __metadata__ ", in_quotes(key), " is not a string");
    result.emplace(key, value.text());
  }
  return result;
}

// Reads the object that describes one tensor. `where` names file and tensor.
class EntryParser {
 public:
  EntryParser(const Json& entry, std::string where, Index data_start)
      : entry_(entry), where_(std::move(where)), data_start_(data_start) {}

  SafetensorsEntry parse(const std::string& name) const {
    require(entry_.is_object() && entry_.size() == 3 && entry_.contains("dtype") &&
                entry_.contains("shape") && entry_.contains("data_offsets"),
            where_, ": expected exactly dtype, shape and data_offsets");
    SafetensorsEntry result{name, {}, DType::float32};
    TensorInfo& info = result.info;
    const FileType type = parse_type();
    result.dtype = type.dtype;
    info.dtype = type.name;
    info.shape = parse_shape();
    const auto [begin, end] = parse_offsets();
    const std::optional<Index> bytes = checked_byte_count(info.shape, type.bytes);
    require(bytes.has_value(), where_, ": shape ", info.shape, " overflows");
    require(end - begin == *bytes, where_, ": ", info.dtype, " ", info.shape, " takes ", *bytes,
            " bytes, data_offsets [", begin, ", ", end, "] hold ", end - begin);
    info.begin = data_start_ + begin;
    info.end = data_start_ + end;
    return result;
  }

 private:
  FileType parse_type() const {
    const Json& dtype = entry_["dtype"];
    require(dtype.is_string(), where_, ": dtype is not a string");
    const auto& name = dtype.text();
    for (const FileType& type : kFileTypes) {
      if (type.name == name) {
        return type;
      }
    }
    fail(where_, ": dtype ", in_quotes(name), " is not supported");
  }

  Shape parse_shape() const {
    const Json& sizes = entry_["shape"];
    require(sizes.is_array(), where_, ": shape is not an array");
    require(sizes.size() <= static_cast<std::size_t>(kMaxRank), where_, ": ", sizes.size(),
            " axes, at most ", kMaxRank, " are supported");
    Shape shape;
    for (const Json& size : sizes) {
      shape.push_back(parse_integer(size, "shape", kMaxAxisSize));
    }
    return shape;
  }

  std::pair<Index, Index> parse_offsets() const {
    const Json& offsets = entry_["data_offsets"];
    require(offsets.is_array() && offsets.size() == 2, where_,
            ": data_offsets is not an array of two");
    constexpr Index kMaxOffset = Index{1} << 62;  // sums with data_start_ stay in range
    const Index begin = parse_integer(offsets[0], "data_offsets", kMaxOffset);
    const Index end = parse_integer(offsets[1], "data_offsets", kMaxOffset);
    require(begin <= end, where_, ": data_offsets [", begin, ", ", end, "] are reversed");
    return {begin, end};
  }

  Index parse_integer(const Json& value, std::string_view key, Index max) const {
    require(value.is_natural() && value.natural() <= static_cast<std::uint64_t>(max), where_, ": ",
            key, " holds something other than an integer from 0 to ", max);
    return value.integer();
  }

  const Json& entry_;
  std::string where_;
  Index data_start_;
};

// The data must fill the file behind the header: no hole, no overlap, nothing left over.
void check_layout(const std::vector<SafetensorsEntry>& entries, Index data_start,
                  const InputFile& file) {
  const std::string name = shown(file.path());
  Index position = data_start;
  for (const SafetensorsEntry& entry : entries) {
    require(entry.info.begin == position, name, ": tensor ", in_quotes(entry.name),
            ": data starts at byte ", entry.info.begin - data_start, ", expected ",
            position - data_start);
    require(entry.info.end <= file.size(), name, ": tensor ", in_quotes(entry.name),
            ": data ends at byte ", entry.info.end, " of a file of ", file.size());
    position = entry.info.end;
  }
  require(position == file.size(), name, ": ", file.size() - position,
          " bytes behind the last tensor");
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(
    const InputFile& file, std::map<std::string, std::string>* metadata) {
  const std::string file_name = shown(file.path());
  const std::string text = read_header_text(file);
  const Index data_start = kLengthBytes + static_cast<Index>(text.size());
  std::vector<SafetensorsEntry> entries;
  parse_json_members(text, file_name + ": header", [&](const std::string& name, Json& value) {
    if (name == kMetadataName) {
      std::map<std::string, std::string> texts = parse_metadata(value, file_name);
      if (metadata != nullptr) {
        *metadata = std::move(texts);
      }
      return;
    }
    require(entries.size() < kMaxTensors, file_name, ": more than ", kMaxTensors, " tensors");
    check_tensor_name(file.path(), name);
    const std::string where = file_name + ": tensor " + in_quotes(name);
    entries.push_back(EntryParser(value, where, data_start).parse(name));
  });
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.info.begin, a.info.end) < std::tie(b.info.begin, b.info.end);
  });
  check_layout(entries, data_start, file);
  return entries;
}

std::map<std::string, TensorInfo> read_safetensors_header(const std::filesystem::path& path) {
  std::map<std::string, TensorInfo> result;
  for (SafetensorsEntry& entry : parse_safetensors_header(InputFile(path))) {
    result.emplace(std::move(entry.name), std::move(entry.info));
  }
  return result;
}

std::map<std::string, std::string> read_safetensors_metadata(const std::filesystem::path& path) {
  std::map<std::string, std::string> metadata;
  parse_safetensors_header(InputFile(path), &metadata);
  return metadata;
}

}  // namespace headlight
