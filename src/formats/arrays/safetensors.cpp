#include "headlight/formats/arrays/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>

#include "base/json.h"
#include "base/share.h"
#include "base/strings/printable.h"
#include "formats/arrays/safetensors_file.h"
#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "storage/input_file.h"
#include "storage/lfs_pointer.h"
#include "tensor/array_source.h"
#include "tensor/float16.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr Index kLengthBytes = 8;
constexpr Index kMaxSafetensorsHeader = Index{16} << 20;    // bytes
constexpr std::string_view kMetadataName = "__metadata__";  // metadata of the file, not a tensor

struct Source {
  const InputFile& file;
  const SafetensorsEntry& entry;

  std::string where() const { return shown(file.path()) + ": tensor " + in_quotes(entry.name); }
};

template <class From, class To, class Convert>
void read_converted(const Source& source, Tensor& tensor, Convert convert) {
  const auto read = [&](Index offset, std::span<std::byte> bytes) {
    source.file.read(source.entry.info.begin + offset, bytes);
  };
  convert_elements<From, To>(tensor, read, convert);
}

template <class From>
void read_integers(const Source& source, Tensor& tensor) {
  read_converted<From, std::int32_t>(source, tensor, [&](From value) {
    const auto wide = static_cast<std::int64_t>(value);
    using Limits = std::numeric_limits<std::int32_t>;
    require(wide >= Limits::min() && wide <= Limits::max(), source.where(), ": ", wide,
            " is outside the range of int32");
    return static_cast<std::int32_t>(wide);
  });
}

void read_unchanged(const Source& source, Tensor& tensor) {
  const std::span<std::byte> bytes = writable_bytes_of(tensor);
  source.file.read(source.entry.info.begin, bytes);
  if (tensor.dtype() == DType::boolean) {
    check_booleans(bytes, source.where());
  }
}

void read_halves(const Source& source, Tensor& tensor) {
  read_converted<std::uint16_t, float>(source, tensor, half_to_float);
}

struct FileType {
  std::string_view name;
  Index bytes;
  DType dtype;  // type of the tensor in memory; the first row of a type is the one written
  void (*read)(const Source&, Tensor&) = read_unchanged;
};

constexpr auto kFileTypes =
    std::to_array<FileType>({{"F64", 8, DType::float64},
                             {"F32", 4, DType::float32},
                             {"F16", 2, DType::float32, read_halves},
                             {"BF16", 2, DType::bfloat16},
                             {"I32", 4, DType::int32},
                             {"I64", 8, DType::int32, read_integers<std::int64_t>},
                             {"I16", 2, DType::int32, read_integers<std::int16_t>},
                             {"I8", 1, DType::int32, read_integers<std::int8_t>},
                             {"U8", 1, DType::int32, read_integers<std::uint8_t>},
                             {"BOOL", 1, DType::boolean}});

const FileType* find_type(std::string_view name) {
  const auto* type = std::find_if(kFileTypes.begin(), kFileTypes.end(),
                                  [&](const FileType& one) { return one.name == name; });
  return type == kFileTypes.end() ? nullptr : type;
}

// Reads the JSON text after the 8 bytes of its length.
std::string read_header_text(const InputFile& file) {
  const std::string name = shown(file.path());
  refuse_lfs_pointer(file);
  require(file.size() >= kLengthBytes, name, ": ", file.size(),
          " bytes are too few for a safetensors file");
  std::array<std::byte, kLengthBytes> bytes{};
  file.read(0, bytes);
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  require(length <= static_cast<std::uint64_t>(kMaxSafetensorsHeader), name, ": header of ", length,
          " bytes, at most ", kMaxSafetensorsHeader, " are accepted");
  require(static_cast<Index>(length) <= file.size() - kLengthBytes, name, ": header of ", length,
          " bytes, but the file has ", file.size(), " bytes; it may be cut off");
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span<char>(text)));
  require(text.starts_with('{'), name, ": the header does not start with '{'");
  return text;
}

std::map<std::string, std::string> parse_metadata(const Json& metadata, const std::string& file) {
  std::map<std::string, std::string> result;
  if (metadata.is_null()) {  // some programs write null for none
    return result;
  }
  require(metadata.is_object(), file, ": __metadata__ is not an object");
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
    const FileType* type = find_type(dtype.text());
    require(type != nullptr, where_, ": dtype ", in_quotes(dtype.text()), " is not supported");
    return *type;
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
            key, " contains something other than an integer from 0 to ", max);
    return value.integer();
  }

  const Json& entry_;
  std::string where_;
  Index data_start_;
};

// Throws Error unless the data fills the file after the header: no holes, no overlaps, no rest.
void check_layout(const std::vector<SafetensorsEntry>& entries, Index data_start,
                  const InputFile& file) {
  const std::string name = shown(file.path());
  Index position = data_start;
  for (const SafetensorsEntry& entry : entries) {
    require(entry.info.begin == position, name, ": tensor ", in_quotes(entry.name),
            ": data starts at byte ", entry.info.begin - data_start, ", expected ",
            position - data_start);
    require(entry.info.end <= file.size(), name, ": tensor ", in_quotes(entry.name),
            ": data ends at byte ", entry.info.end, ", but the file has ", file.size(),
            " bytes; it may be cut off");
    position = entry.info.end;
  }
  require(position == file.size(), name, ": ", file.size() - position,
          " unexpected bytes after the last tensor");
}

// Returns the checked entries in the order of their data. Stores __metadata__ in `metadata`.
std::vector<SafetensorsEntry> parse_safetensors_header(
    const InputFile& file, std::map<std::string, std::string>* metadata = nullptr) {
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

constexpr std::size_t kDataAlignment = 8;

std::size_t stored_size(DType dtype, StoredFloats floats) {
  return is_halved(dtype, floats) ? sizeof(std::uint16_t) : element_size(dtype);
}

std::string_view file_type(DType dtype, StoredFloats floats) {
  if (is_halved(dtype, floats)) {
    return floats == StoredFloats::float16 ? "F16" : "BF16";
  }
  return std::find_if(kFileTypes.begin(), kFileTypes.end(),
                      [&](const FileType& type) { return type.dtype == dtype; })
      ->name;
}

std::string header_text(const std::vector<ArraySource>& arrays,
                        const std::map<std::string, std::string>& metadata, StoredFloats floats) {
  Json header = Json::object();
  if (!metadata.empty()) {
    header.add(std::string(kMetadataName), metadata);
  }
  Index begin = 0;
  for (const ArraySource& array : arrays) {
    const Index end =
        begin + numel(array.shape) * static_cast<Index>(stored_size(array.dtype, floats));
    header.add(array.name, {{"dtype", file_type(array.dtype, floats)},
                            {"shape", std::vector<Index>(array.shape.begin(), array.shape.end())},
                            {"data_offsets", {begin, end}}});
    begin = end;
  }
  return header.dump(-1, Json::BadUtf8::refused);
}

void write_elements(FileWriter& writer, const ArraySource& array, StoredFloats floats) {
  constexpr Index kPiece = Index{1} << 20;  // bytes
  StoredElements elements(array, floats);
  std::vector<std::byte> piece;
  for (Index left = numel(array.shape) * static_cast<Index>(stored_size(array.dtype, floats));
       left > 0; left -= std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, left)));
    elements.read(piece);
    writer.write(piece);
  }
}

constexpr Index kLargestIndex = Index{16} << 20;  // bytes
constexpr std::size_t kLongestFileName = 255;     // of a file name, in bytes

bool is_plain_file_name(const std::string& name) {
  constexpr std::string_view kSuffix = ".safetensors";
  return name.size() > kSuffix.size() && name.size() <= kLongestFileName &&
         name.ends_with(kSuffix) && name.front() != '.' &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

}  // namespace

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

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), entries_(parse_safetensors_header(file_)) {}

Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  Tensor tensor = Tensor::empty(entry.info.shape, entry.dtype);
  find_type(entry.info.dtype)->read({file_, entry}, tensor);
  return tensor;
}

Tensor SafetensorsFile::read_rows(const SafetensorsEntry& entry, Index first, Index count) const {
  require(entry.info.shape.rank() == 2 && first >= 0 && count >= 0 &&
              count <= entry.info.shape[0] - first,
          Source{file_, entry}.where(), ": no rows ", first, " to ", first + count, " in ",
          entry.info.shape);
  const Index row_bytes =
      entry.info.shape[0] == 0 ? 0 : (entry.info.end - entry.info.begin) / entry.info.shape[0];
  SafetensorsEntry rows = entry;
  rows.info.shape[0] = count;
  rows.info.begin += first * row_bytes;
  return read(rows);
}

void SafetensorsFile::read_into(const SafetensorsEntry& entry, Tensor& target) const {
  if (target.dtype() == entry.dtype) {
    find_type(entry.info.dtype)->read({file_, entry}, target);
  } else {
    target.copy_from(read(entry));
  }
}

NamedTensors read_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    tensors.emplace_back(entry.name, file.read(entry));
  }
  return tensors;
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata, StoredFloats floats,
                       const std::function<void(double)>& progress) {
  check_tensors(path, tensors);
  std::vector<ArraySource> arrays;
  for (const auto& [name, tensor] : tensors) {
    arrays.push_back(source_of(name, tensor));
  }
  write_safetensors(path, std::move(arrays), metadata, floats, progress);
}

void write_safetensors(const std::filesystem::path& path, std::vector<ArraySource> arrays,
                       const std::map<std::string, std::string>& metadata, StoredFloats floats,
                       const std::function<void(double)>& progress) {
  for (const ArraySource& array : arrays) {
    check_tensor_name(path, array.name);
    require(array.name != kMetadataName, shown(path), ": a tensor cannot be named ", kMetadataName);
  }
  std::stable_sort(arrays.begin(), arrays.end(), [&](const ArraySource& a, const ArraySource& b) {
    return stored_size(a.dtype, floats) > stored_size(b.dtype, floats);
  });
  std::string header;
  try {
    header = header_text(arrays, metadata, floats);
  } catch (const Error&) {
    fail(shown(path), ": a name or the metadata is not UTF-8");
  }
  header.append((kDataAlignment - header.size() % kDataAlignment) % kDataAlignment, ' ');
  require(header.size() <= static_cast<std::size_t>(kMaxSafetensorsHeader), shown(path),
          ": header of ", header.size(), " bytes, at most ", kMaxSafetensorsHeader,
          " can be written");
  Index all = 0;
  for (const ArraySource& array : arrays) {
    all += numel(array.shape);
  }
  replace_file(path, [&](FileWriter& writer) {
    const auto length = static_cast<std::uint64_t>(header.size());
    writer.write(std::as_bytes(std::span(&length, 1)));
    writer.write(header);
    Index done = 0;
    for (ArraySource& array : arrays) {
      write_elements(writer, array, floats);
      array.read = nullptr;  // frees a copy that it has made
      done += numel(array.shape);
      progress(share_of(done, all));
    }
  });
}

std::map<std::string, std::string> read_shard_index(const std::filesystem::path& path) {
  const std::string where = shown(path);
  const Json index = parse_json(read_whole_file(path, kLargestIndex), where);
  const Json& map = json_member(index, "weight_map", where);
  require(map.is_object() && !map.empty(), where,
          ": weight_map: expected an object that gives the file of each tensor");
  require(map.size() <= kMaxTensors, where, ": weight_map: ", map.size(), " tensors, at most ",
          kMaxTensors, " are accepted");
  std::map<std::string, std::string> homes;
  for (const auto& [tensor, file] : map.members()) {
    const std::string location = where + ": weight_map: " + in_quotes(tensor);
    require(file.is_string(), location, ": expected the name of a file");
    const auto& name = file.text();
    require(is_plain_file_name(name), location, ": ", in_quotes(name),
            " is not the name of a .safetensors file in this folder");
    homes.emplace(tensor, name);
  }
  return homes;
}

}  // namespace headlight
