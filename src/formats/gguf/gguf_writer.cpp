#include <algorithm>
#include <set>

#include "base/share.h"
#include "base/strings/printable.h"
#include "formats/gguf/gguf_blocks.h"
#include "formats/gguf/gguf_header.h"
#include "headlight/base/error.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/kernels/threads/parallel.h"
#include "headlight/storage/file_writer.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::size_t kLongestTensorName = 63;      // GGML_MAX_NAME without its zero byte
constexpr Index kConvertedAtOnce = Index{1} << 16;  // per thread

// Writer of the header.
class HeaderText {
 public:
  const std::string& bytes() const { return bytes_; }

  void add_bytes(std::string_view bytes) { bytes_ += bytes; }
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  void value(const GgufValue& value) {
    number(static_cast<std::uint32_t>(value.index()));
    std::visit([this](const auto& element) { add(element); }, value);
  }
  void fill_up(Index alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    bytes_.append((unit - bytes_.size() % unit) % unit, '\0');
  }

 private:
  template <class T>
  void add(const T& element) {
    number(element);
  }
  void add(const std::string& element) { text(element); }
  void add(const GgufArray& array) {
    number(static_cast<std::uint32_t>(array.index()));
    std::visit([this](const auto& list) { add_list(list); }, array);
  }
  void add_list(std::monostate) { fail("a list of lists cannot be written"); }
  template <class T>
  void add_list(const std::vector<T>& list) {
    require(!std::is_same_v<T, std::string> || std::ssize(list) <= kMaxGgufTexts, "a list of ",
            list.size(), " texts, at most ", kMaxGgufTexts, " can be written");
    number(std::uint64_t{list.size()});
    for (const T& element : list) {
      add(element);
    }
  }

  std::string bytes_;
};

std::string where_of(const std::filesystem::path& path, const GgufSource& source) {
  return shown(path) + ": tensor " + in_quotes(source.name);
}

void check_sources(const std::filesystem::path& path, const std::vector<GgufSource>& sources) {
  NamedTensors tensors;
  for (const GgufSource& source : sources) {
    tensors.emplace_back(source.name, source.tensor);
  }
  check_tensors(path, tensors);
  for (const GgufSource& source : sources) {
    const std::string where = where_of(path, source);
    require(source.name.size() <= kLongestTensorName, where, ": a name of ", source.name.size(),
            " bytes, llama.cpp reads at most ", kLongestTensorName);
    require(is_floating(source.tensor.dtype()), where, ": expected a floating type, got ",
            source.tensor.dtype());
    require(can_write_gguf(source.type), where,
            ": expected a type that can be written, such as Q8_0, got ", name_of(source.type));
    require(source.importance.empty() ||
                (source.tensor.shape().rank() > 0 &&
                 std::ssize(source.importance) == source.tensor.shape().back()),
            where, ": expected the importance of each column, got ", source.importance.size(),
            " numbers");
  }
}

void add_metadata(const std::filesystem::path& path, const GgufMetadata& metadata,
                  HeaderText& header) {
  require(metadata.size() <= kMaxGgufKeys, shown(path), ": ", metadata.size(),
          " keys of metadata, at most ", kMaxGgufKeys, " can be written");
  std::set<std::string_view> keys;
  for (const auto& entry : metadata) {
    const std::string& key = entry.first;
    check_gguf_key(shown(path), key);
    require(keys.insert(key).second, shown(path), ": metadata ", in_quotes(key), " appears twice");
    header.text(key);
    in_place(shown(path) + ": metadata " + in_quotes(key) + ": ",
             [&] { header.value(entry.second); });
  }
}

void add_table(const std::filesystem::path& path, const std::vector<GgufSource>& sources,
               Index alignment, HeaderText& header) {
  Index offset = 0;
  for (const GgufSource& source : sources) {
    const Shape& shape = source.tensor.shape();
    const Index bytes = gguf_tensor_bytes(where_of(path, source), source.type, shape);
    header.text(source.name);
    header.number(static_cast<std::uint32_t>(shape.rank()));
    for (Index axis = shape.rank() - 1; axis >= 0; --axis) {
      header.number(static_cast<std::uint64_t>(shape[axis]));
    }
    header.number(static_cast<std::uint32_t>(source.type));
    header.number(static_cast<std::uint64_t>(offset));
    offset += rounded_up(bytes, alignment);
  }
}

// Returns the elements as stored, with zeros up to the alignment.
std::vector<std::byte> stored_elements(const GgufSource& source, Index alignment) {
  const Tensor values = to_contiguous(convert(source.tensor, DType::float32));
  const std::span<const float> elements(values.data<float>(),
                                        static_cast<std::size_t>(values.numel()));
  const GgufBlock block = gguf_block(source.type);
  const Index blocks = values.numel() / block.elements;
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(rounded_up(blocks * block.bytes, alignment)));
  // Blocks of a row, so that each thread begins at a row; any blocks without importance.
  const Index unit = std::max<Index>(std::ssize(source.importance) / block.elements, 1);
  const Index at_once = std::max<Index>(kConvertedAtOnce / (unit * block.elements), 1);
  parallel_for(blocks / unit, at_once, [&](Index from, Index to) {
    const auto part = [&](auto all, Index size) {
      return all.subspan(static_cast<std::size_t>(from * size),
                         static_cast<std::size_t>((to - from) * size));
    };
    quantize_gguf(source.type, part(elements, unit * block.elements),
                  part(std::span(bytes), unit * block.bytes), source.importance);
  });
  return bytes;
}

Index alignment_of(const std::filesystem::path& path, const GgufMetadata& metadata) {
  const auto found = std::find_if(metadata.begin(), metadata.end(), [](const auto& entry) {
    return entry.first == kGgufAlignmentKey;
  });
  return gguf_alignment(shown(path), found == metadata.end() ? nullptr : &found->second);
}

}  // namespace

void write_gguf(const std::filesystem::path& path, const GgufMetadata& metadata,
                const std::vector<GgufSource>& tensors,
                const std::function<void(double)>& progress) {
  check_sources(path, tensors);
  const Index alignment = alignment_of(path, metadata);
  HeaderText header;
  header.add_bytes(kGgufMagic);
  header.number(kGgufVersion);
  header.number(std::uint64_t{tensors.size()});
  header.number(std::uint64_t{metadata.size()});
  add_metadata(path, metadata, header);
  add_table(path, tensors, alignment, header);
  header.fill_up(alignment);
  require(std::ssize(header.bytes()) <= kMaxGgufHeader, shown(path), ": a header of ",
          header.bytes().size(), " bytes, at most ", kMaxGgufHeader, " can be written");
  Index all = 0;
  for (const GgufSource& source : tensors) {
    all += source.tensor.numel();
  }
  replace_file(path, [&](FileWriter& writer) {
    writer.write(header.bytes());
    Index done = 0;
    for (const GgufSource& source : tensors) {
      writer.write(in_place(where_of(path, source) + ": ",
                            [&] { return stored_elements(source, alignment); }));
      done += source.tensor.numel();
      progress(share_of(done, all));
    }
  });
}

}  // namespace headlight
