#include "formats/gguf/gguf_header.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "storage/lfs_pointer.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxTensorNameBytes = 1024;
constexpr Index kMaxAlignment = Index{1} << 20;  // bytes

// Sequential reader of the header.
class HeaderBytes {
 public:
  explicit HeaderBytes(const InputFile& file)
      : file_(file), end_(std::min(file.size(), kMaxGgufHeader)), where_(shown(file.path())) {}

  Index position() const { return position_; }
  // Returns the beginning of error messages: the file and the key or tensor being read.
  const std::string& where() const { return where_; }
  void set_where(std::string_view part) { where_ = shown(file_.path()) + ": " + std::string(part); }

  // Throws Error unless `count` items of `bytes` bytes can follow. Call before allocating for them.
  void require_left(std::uint64_t count, std::uint64_t bytes) const {
    if (count > static_cast<std::uint64_t>(end_ - position_) / bytes) {
      require(end_ == file_.size(), where_, ": the header is longer than ", kMaxGgufHeader,
              " bytes");
      fail(where_, ": is damaged or cut off: expected ", count, " x ", bytes, " bytes from byte ",
           position_, ", but the file has ", file_.size(), " bytes");
    }
  }

  void read(std::span<std::byte> bytes) {
    require_left(bytes.size(), 1);
    while (!bytes.empty()) {
      if (position_ == buffer_begin_ + std::ssize(buffer_)) {
        fill_buffer();
      }
      const auto start = static_cast<std::size_t>(position_ - buffer_begin_);
      const std::size_t count = std::min(bytes.size(), buffer_.size() - start);
      std::copy_n(buffer_.begin() + static_cast<Index>(start), count, bytes.begin());
      bytes = bytes.subspan(count);
      position_ += static_cast<Index>(count);
    }
  }

  template <class T>
  T number() {
    std::array<std::byte, sizeof(T)> bytes{};
    read(bytes);
    return std::bit_cast<T>(bytes);
  }

  // Reads a text after its length.
  std::string text(std::string_view what, std::uint64_t max_bytes) {
    const auto length = number<std::uint64_t>();
    require(length <= max_bytes, where_, ": ", what, " of ", length, " bytes, at most ", max_bytes,
            " are accepted");
    require_left(length, 1);
    std::string text(length, '\0');
    read(std::as_writable_bytes(std::span<char>(text)));
    return text;
  }

 private:
  void fill_buffer() {
    constexpr Index kBufferBytes = Index{1} << 16;
    buffer_.resize(static_cast<std::size_t>(std::min(kBufferBytes, end_ - position_)));
    buffer_begin_ = position_;
    file_.read(position_, buffer_);
  }

  const InputFile& file_;
  Index end_;
  std::string where_;
  Index position_ = 0;
  std::vector<std::byte> buffer_;
  Index buffer_begin_ = 0;
};

// Reads one value of metadata, of type T.
template <class T>
T read_element(HeaderBytes& bytes) {
  return bytes.number<T>();
}

template <>
bool read_element<bool>(HeaderBytes& bytes) {
  const auto byte = bytes.number<std::uint8_t>();
  require(byte <= 1, bytes.where(), ": expected a bool of 0 or 1, got ", Index{byte});
  return byte == 1;
}

template <>
std::string read_element<std::string>(HeaderBytes& bytes) {
  return bytes.text("a text", static_cast<std::uint64_t>(kMaxGgufHeader));
}

// Reads `count` elements into a list of type List.
template <class List>
GgufArray read_list(HeaderBytes& bytes, std::uint64_t count) {
  using T = typename List::value_type;
  constexpr bool kTexts = std::is_same_v<T, std::string>;
  bytes.require_left(count, kTexts ? sizeof(std::uint64_t) : sizeof(T));
  require(!kTexts || count <= static_cast<std::uint64_t>(kMaxGgufTexts), bytes.where(), ": ", count,
          " texts, at most ", kMaxGgufTexts, " are accepted");
  List list(count);
  if constexpr (kTexts || std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = read_element<T>(bytes);
    }
  } else {
    bytes.read(std::as_writable_bytes(std::span(list)));
  }
  return list;
}

template <>
GgufArray read_list<std::monostate>(HeaderBytes& bytes, std::uint64_t) {
  fail(bytes.where(), ": lists of lists are not supported");
}

std::uint32_t read_value_type(HeaderBytes& bytes) {
  const auto type = bytes.number<std::uint32_t>();
  require(type < kGgufValueTypes.size(), bytes.where(), ": unknown metadata type ", type);
  return type;
}

template <>
GgufArray read_element<GgufArray>(HeaderBytes& bytes) {
  constexpr auto kReaders = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{&read_list<std::variant_alternative_t<I, GgufArray>>...};
  }
  (std::make_index_sequence<std::variant_size_v<GgufArray>>());
  const std::uint32_t type = read_value_type(bytes);
  return kReaders[type](bytes, bytes.number<std::uint64_t>());
}

template <class T>
GgufValue read_as(HeaderBytes& bytes) {
  return GgufValue(std::in_place_type<T>, read_element<T>(bytes));
}

GgufValue read_value(HeaderBytes& bytes) {
  constexpr auto kReaders = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{&read_as<std::variant_alternative_t<I, GgufValue>>...};
  }
  (std::make_index_sequence<std::variant_size_v<GgufValue>>());
  return kReaders[read_value_type(bytes)](bytes);
}

void read_metadata(HeaderBytes& bytes, std::uint64_t count, GgufHeader& header) {
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes.set_where(concat_text("metadata ", i));
    std::string key = bytes.text("a key", kMaxKeyBytes);
    check_gguf_key(bytes.where(), key);
    bytes.set_where("metadata " + in_quotes(key));
    require(header.keys.emplace(key, header.metadata.size()).second, bytes.where(),
            ": the key appears twice");
    GgufValue value = read_value(bytes);
    header.metadata.emplace_back(std::move(key), std::move(value));
  }
}

// Returns the name of an unsupported ggml type, for messages.
std::string_view foreign_type_name(std::uint32_t type) {
  constexpr std::array<Choice<std::uint32_t>, 18> kForeign{{{"Q8_1", 9},
                                                            {"Q8_K", 15},
                                                            {"IQ2_XXS", 16},
                                                            {"IQ2_XS", 17},
                                                            {"IQ3_XXS", 18},
                                                            {"IQ1_S", 19},
                                                            {"IQ3_S", 21},
                                                            {"IQ2_S", 22},
                                                            {"I8", 24},
                                                            {"I16", 25},
                                                            {"I32", 26},
                                                            {"I64", 27},
                                                            {"F64", 28},
                                                            {"IQ1_M", 29},
                                                            {"TQ1_0", 34},
                                                            {"TQ2_0", 35},
                                                            {"MXFP4", 39},
                                                            {"NVFP4", 40}}};
  const auto* found = std::find_if(kForeign.begin(), kForeign.end(),
                                   [&](const auto& foreign) { return foreign.value == type; });
  return found == kForeign.end() ? "unknown" : found->name;
}

GgufType read_tensor_type(HeaderBytes& bytes) {
  const auto number = bytes.number<std::uint32_t>();
  const auto type = static_cast<GgufType>(number);
  require(!name_of(type).empty(), bytes.where(), ": elements of type ", number, " (",
          foreign_type_name(number), ") are not supported");
  return type;
}

Shape read_shape(HeaderBytes& bytes) {
  const auto rank = bytes.number<std::uint32_t>();
  require(rank <= static_cast<std::uint32_t>(kMaxGgufRank), bytes.where(), ": ", rank,
          " axes, at most ", kMaxGgufRank, " are supported");
  Shape shape;
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    const auto size = bytes.number<std::uint64_t>();
    require(size <= static_cast<std::uint64_t>(kMaxAxisSize), bytes.where(), ": an axis has size ",
            size, ", at most ", kMaxAxisSize, " is accepted");
    shape.push_back(static_cast<Index>(size));
  }
  std::reverse(shape.begin(), shape.end());
  return shape;
}

// Reads an entry of the table. Its begin and end count from the start of all elements.
GgufTensor read_tensor(HeaderBytes& bytes, std::string name, Index alignment) {
  GgufTensor tensor{.name = std::move(name)};
  tensor.shape = read_shape(bytes);
  tensor.type = read_tensor_type(bytes);
  const Index length = gguf_tensor_bytes(bytes.where(), tensor.type, tensor.shape);
  const auto offset = bytes.number<std::uint64_t>();
  constexpr auto kMaxOffset = std::uint64_t{1} << 61;  // sums do not overflow
  require(offset <= kMaxOffset && length <= static_cast<Index>(kMaxOffset), bytes.where(), ": ",
          length, " bytes at offset ", offset, " are not in the file");
  require(offset % static_cast<std::uint64_t>(alignment) == 0, bytes.where(), ": offset ", offset,
          " is not a multiple of the alignment, ", alignment);
  tensor.begin = static_cast<Index>(offset);
  tensor.end = tensor.begin + length;
  return tensor;
}

void read_tensors(HeaderBytes& bytes, const InputFile& file, std::uint64_t count, Index alignment,
                  GgufHeader& header) {
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes.set_where(concat_text("tensor ", i));
    std::string name = bytes.text("a name", kMaxTensorNameBytes);
    check_tensor_name(file.path(), name);
    require_utf8(name, bytes.where());
    bytes.set_where("tensor " + in_quotes(name));
    require(header.names.emplace(name, header.tensors.size()).second, bytes.where(),
            ": the name appears twice");
    header.tensors.push_back(read_tensor(bytes, std::move(name), alignment));
  }
}

// Converts begin and end to file positions. Throws Error if tensors overlap or exceed the file.
void locate_tensors(const InputFile& file, Index data_start, std::vector<GgufTensor>& tensors) {
  std::vector<const GgufTensor*> order;
  for (GgufTensor& tensor : tensors) {
    require(tensor.end <= file.size() - data_start, shown(file.path()), ": tensor ",
            in_quotes(tensor.name), ": ", tensor.end - tensor.begin, " bytes at offset ",
            tensor.begin, " end beyond the file, which has ",
            std::max<Index>(0, file.size() - data_start), " bytes of data; it may be cut off");
    tensor.begin += data_start;
    tensor.end += data_start;
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    require(order[i - 1]->end <= order[i]->begin, shown(file.path()), ": tensors ",
            in_quotes(order[i - 1]->name), " and ", in_quotes(order[i]->name), " overlap");
  }
}

// Reads the magic bytes and the version.
std::uint32_t read_version(HeaderBytes& bytes, const InputFile& file) {
  constexpr Index kFixedBytes = 24;
  const std::string name = shown(file.path());
  refuse_lfs_pointer(file);
  require(file.size() >= kFixedBytes, name, ": ", file.size(),
          " bytes are too few for a GGUF file");
  std::string magic(kGgufMagic.size(), '\0');
  bytes.read(std::as_writable_bytes(std::span<char>(magic)));
  require(magic == kGgufMagic, name, ": expected a GGUF file, got one that begins with ",
          in_quotes(magic));
  const auto version = bytes.number<std::uint32_t>();
  const bool reversed = (version & 0xFFFFU) == 0 && version != 0;
  require(!reversed, name, ": a big endian GGUF file is not supported");
  require(version == 2 || version == kGgufVersion, name, ": version ", version,
          " of GGUF is not supported, expected 2 or 3");
  return version;
}

std::uint64_t read_count(HeaderBytes& bytes, std::string_view what, std::size_t max) {
  const auto count = bytes.number<std::uint64_t>();
  require(count <= max, bytes.where(), ": ", count, " ", what, ", at most ", max, " are accepted");
  return count;
}

}  // namespace

void check_gguf_key(std::string_view where, std::string_view key) {
  require(!key.empty() && key.size() <= kMaxKeyBytes, where, ": key of ", key.size(),
          " bytes, expected 1 to ", kMaxKeyBytes);
  require(escaped(key) == key, where, ": key ", in_quotes(key), " contains a control character");
  require_utf8(key, where);
}

Index gguf_alignment(std::string_view where, const GgufValue* value) {
  if (value == nullptr) {
    return kGgufAlignment;
  }
  const auto* number = std::get_if<std::uint32_t>(value);
  require(number != nullptr, where, ": ", kGgufAlignmentKey, ": expected a uint32, got a ",
          kGgufValueTypes[value->index()]);
  require(std::has_single_bit(*number) && Index{*number} <= kMaxAlignment, where, ": ",
          kGgufAlignmentKey, ": expected a power of two up to ", kMaxAlignment, ", got ", *number);
  return *number;
}

Index gguf_tensor_bytes(std::string_view where, GgufType type, const Shape& shape) {
  require(shape.rank() <= kMaxGgufRank, where, ": ", shape.rank(), " axes, at most ", kMaxGgufRank,
          " are supported");
  require(std::find(shape.begin(), shape.end(), 0) == shape.end(), where, ": shape ", shape,
          " has an axis of 0");
  const std::optional<Index> as_doubles = checked_byte_count(shape, sizeof(double));
  require(as_doubles.has_value(), where, ": shape ", shape, " overflows");
  const GgufBlock block = gguf_block(type);
  const Index width = shape.rank() == 0 ? 1 : shape.back();
  require(width % block.elements == 0, where, ": rows of ", width,
          " elements are not a whole number of blocks of ", block.elements, ", the block size of ",
          name_of(type));
  const Index elements = *as_doubles / static_cast<Index>(sizeof(double));
  return elements / block.elements * block.bytes;
}

GgufHeader read_gguf_header(const InputFile& file) {
  HeaderBytes bytes(file);
  GgufHeader header{.version = read_version(bytes, file)};
  const std::uint64_t tensors = read_count(bytes, "tensors", kMaxTensors);
  const std::uint64_t entries = read_count(bytes, "keys of metadata", kMaxGgufKeys);
  read_metadata(bytes, entries, header);
  const Index alignment = gguf_alignment(shown(file.path()), header.find_value(kGgufAlignmentKey));
  read_tensors(bytes, file, tensors, alignment, header);
  const Index data_start = rounded_up(bytes.position(), alignment);
  locate_tensors(file, data_start, header.tensors);
  return header;
}

}  // namespace headlight
