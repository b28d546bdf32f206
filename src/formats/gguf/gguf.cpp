#include "headlight/formats/gguf/gguf.h"

#include "base/strings/printable.h"
#include "base/strings/zero_padded.h"
#include "formats/gguf/gguf_blocks.h"
#include "formats/gguf/gguf_header.h"
#include "headlight/base/error.h"
#include "headlight/kernels/threads/parallel.h"

namespace headlight {
namespace {

constexpr Index kElementsAtOnce = Index{1} << 16;  // per thread

// Fills `values` with elements of a tensor from element `first` on, which must begin a block.
void read_elements(const InputFile& file, const GgufTensor& tensor, Index first,
                   std::span<float> values) {
  const GgufBlock block = gguf_block(tensor.type);
  const Index begin = tensor.begin + first / block.elements * block.bytes;
  const Index blocks = std::ssize(values) / block.elements;
  parallel_for(blocks, kElementsAtOnce / block.elements, [&](Index from, Index to) {
    const std::span<float> part =
        values.subspan(static_cast<std::size_t>(from * block.elements),
                       static_cast<std::size_t>((to - from) * block.elements));
    if (tensor.type == GgufType::f32) {
      file.read(begin + from * block.bytes, std::as_writable_bytes(part));
      return;
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>((to - from) * block.bytes));
    file.read(begin + from * block.bytes, bytes);
    dequantize_gguf(tensor.type, bytes, part);
  });
}

constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitNumber = "split.no";

// Index of a file among the parts of a split model.
struct SplitPart {
  std::size_t number = 0;
  std::size_t count = 1;
};

std::size_t split_key(const GgufHeader& header, std::string_view key, std::string_view where,
                      std::size_t fallback) {
  const GgufValue* value = header.find_value(key);
  const auto* number = std::get_if<std::uint16_t>(value);
  require(value == nullptr || number != nullptr, where, ": ", key, ": expected a uint16");
  return value == nullptr ? fallback : *number;
}

SplitPart split_part(const GgufHeader& header, std::string_view where) {
  constexpr std::size_t kMostParts = 1024;
  const SplitPart split{.number = split_key(header, kSplitNumber, where, 0),
                        .count = split_key(header, kSplitCount, where, 1)};
  require(split.count <= kMostParts, where, ": ", kSplitCount, ": ", split.count,
          " parts, at most ", kMostParts, " are accepted");
  return split;
}

// Returns "-00001-of-00003.gguf" for part 0 of 3.
std::string part_ending(std::size_t number, std::size_t count) {
  const auto digits = [](std::size_t value) { return zero_padded(static_cast<Index>(value), 5); };
  return "-" + digits(number + 1) + "-of-" + digits(count) + ".gguf";
}

std::span<float> elements_of(Tensor& tensor) {
  return {tensor.data<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path)
    : files_{std::make_shared<const InputFile>(path)}, header_(read_gguf_header(*files_[0])) {
  const SplitPart split = split_part(header_, shown(path));
  if (split.count <= 1) {
    return;
  }
  const std::string name = path.string();
  const std::string end = part_ending(split.number, split.count);
  require(name.ends_with(end), shown(path), ": is file ", split.number + 1, " of ", split.count,
          " of a split model; expected a name that ends in ", end);
  const std::string start = name.substr(0, name.size() - end.size());
  require(split.number == 0, shown(path), ": is file ", split.number + 1, " of ", split.count,
          " of a split model; give the first, ", shown(start + part_ending(0, split.count)));
  for (std::size_t part = 1; part < split.count; ++part) {
    add_part(start + part_ending(part, split.count));
  }
}

void GgufFile::add_part(const std::filesystem::path& path) {
  const std::size_t part = files_.size();
  const std::size_t count = split_part(header_, shown(path)).count;
  require(std::filesystem::exists(path), shown(path), ": part ", part + 1, " of ", count,
          " is missing");
  files_.push_back(std::make_shared<const InputFile>(path));
  GgufHeader header = read_gguf_header(*files_.back());
  const SplitPart split = split_part(header, shown(path));
  require(split.number == part && split.count == count, shown(path), ": expected part ", part + 1,
          " of ", count, ", got part ", split.number + 1, " of ", split.count);
  for (GgufTensor& tensor : header.tensors) {
    require(header_.names.emplace(tensor.name, header_.tensors.size()).second, shown(path),
            ": tensor ", in_quotes(tensor.name), " is in another part as well");
    tensor.part = part;
    header_.tensors.push_back(std::move(tensor));
  }
}

const std::filesystem::path& GgufFile::path() const { return files_[0]->path(); }

const GgufValue* GgufHeader::find_value(std::string_view key) const {
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : &metadata[found->second].second;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = header_.names.find(name);
  return found == header_.names.end() ? nullptr : &header_.tensors[found->second];
}

Tensor GgufFile::read(const GgufTensor& tensor) const {
  Tensor values = Tensor::empty(tensor.shape);
  read_elements(*files_[tensor.part], tensor, 0, elements_of(values));
  return values;
}

void GgufFile::read_into(const GgufTensor& tensor, Tensor& target) const {
  if (target.dtype() == DType::float32) {
    read_elements(*files_[tensor.part], tensor, 0, elements_of(target));
  } else {
    target.copy_from(read(tensor));
  }
}

void GgufFile::read_bytes(const GgufTensor& tensor, Index first, std::span<std::byte> bytes) const {
  files_[tensor.part]->read(tensor.begin + first, bytes);
}

Tensor GgufFile::read_rows(const GgufTensor& tensor, Index first, Index count) const {
  const std::string where = shown(path()) + ": tensor " + in_quotes(tensor.name);
  require(tensor.shape.rank() > 0, where, ": is a scalar; rows need at least one dimension");
  const Index width = tensor.shape.back();
  const Index rows = numel(tensor.shape) / width;
  require(first >= 0 && count >= 0 && count <= rows && first <= rows - count, where, ": rows ",
          first, " to ", first + count, " are outside its ", rows, " rows");
  Tensor values = Tensor::empty({count, width});
  read_elements(*files_[tensor.part], tensor, first * width, elements_of(values));
  return values;
}

bool is_gguf_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".gguf" && !std::filesystem::is_directory(path, ignored);
}

}  // namespace headlight
