#include "headlight/io/gguf.h"

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/kernels/parallel.h"
#include "io/formats/gguf/gguf_blocks.h"
#include "io/formats/gguf/gguf_header.h"

namespace headlight {
namespace {

constexpr Index kElementsAtOnce = Index{1} << 16;  // read by a thread

// Reads elements of a tensor from element `first` on, which begins a block, until `values` is full.
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

std::span<float> elements_of(Tensor& tensor) {
  return {tensor.data<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path)
    : file_(std::make_shared<const InputFile>(path)), header_(read_gguf_header(*file_)) {}

const std::filesystem::path& GgufFile::path() const { return file_->path(); }

const GgufValue* GgufFile::find_value(std::string_view key) const {
  const auto found = header_.keys.find(key);
  return found == header_.keys.end() ? nullptr : &header_.metadata[found->second].second;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = header_.names.find(name);
  return found == header_.names.end() ? nullptr : &header_.tensors[found->second];
}

Tensor GgufFile::read(const GgufTensor& tensor) const {
  Tensor values = Tensor::empty(tensor.shape);
  read_elements(*file_, tensor, 0, elements_of(values));
  return values;
}

void GgufFile::read_into(const GgufTensor& tensor, Tensor& target) const {
  if (target.dtype() == DType::float32) {
    read_elements(*file_, tensor, 0, elements_of(target));
  } else {
    target.copy_from(read(tensor));
  }
}

Tensor GgufFile::read_rows(const GgufTensor& tensor, Index first, Index count) const {
  const std::string where = shown(path()) + ": tensor " + in_quotes(tensor.name);
  require(tensor.shape.rank() > 0, where, ": a single value has no rows");
  const Index width = tensor.shape.back();
  const Index rows = numel(tensor.shape) / width;
  require(first >= 0 && count >= 0 && count <= rows && first <= rows - count, where, ": rows ",
          first, " to ", first + count, ", but there are ", rows);
  Tensor values = Tensor::empty({count, width});
  read_elements(*file_, tensor, first * width, elements_of(values));
  return values;
}

bool is_gguf_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".gguf" && !std::filesystem::is_directory(path, ignored);
}

}  // namespace headlight
