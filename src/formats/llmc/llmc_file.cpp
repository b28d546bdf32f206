#include "formats/llmc/llmc_file.h"

#include <algorithm>
#include <array>

#include "base/strings/printable.h"
#include "formats/huggingface/config_reader.h"
#include "formats/llmc/llmc_header.h"
#include "headlight/base/error.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::int32_t kFloat32Version = 3;
constexpr std::int32_t kBfloat16Version = 5;

// A weight of a layer. Sizes are multiples of C, the width; columns 0: a vector.
struct LayerWeight {
  std::string_view name;
  Index rows = 1;
  Index columns = 0;
};

// In the order of the file; each row holds the weights of all layers.
constexpr std::array<LayerWeight, 12> kLayerWeights{{{"ln_1.weight"},
                                                     {"ln_1.bias"},
                                                     {"attn.c_attn.weight", 3, 1},
                                                     {"attn.c_attn.bias", 3},
                                                     {"attn.c_proj.weight", 1, 1},
                                                     {"attn.c_proj.bias"},
                                                     {"ln_2.weight"},
                                                     {"ln_2.bias"},
                                                     {"mlp.c_fc.weight", 4, 1},
                                                     {"mlp.c_fc.bias", 4},
                                                     {"mlp.c_proj.weight", 1, 4},
                                                     {"mlp.c_proj.bias"}}};

constexpr Index kNoFile = Index{1} << 60;  // larger than every file

// Adds entries consecutively.
class EntryList {
 public:
  EntryList(Index width, std::vector<LlmcFile::Entry>& entries)
      : width_(width), entries_(entries) {}

  void add(std::string name, const Shape& shape) {
    entries_.push_back({std::move(name), shape, end_});
    Index elements = 1;
    for (const Index size : shape) {
      elements *= size;
    }
    skip(elements);
  }
  void skip(Index elements) { end_ = std::min(end_ + elements * width_, kNoFile); }
  Index end() const { return end_; }

 private:
  Index width_;  // bytes of an element
  std::vector<LlmcFile::Entry>& entries_;
  Index end_ = kLlmcHeaderBytes;
};

}  // namespace

bool is_llmc_file(const std::filesystem::path& path) { return is_llmc_kind(path, kLlmcModel); }

LlmcFile::LlmcFile(const std::filesystem::path& path) : file_(path) {
  in_place(shown(path) + ": ", [&] { read_sizes(); });
  const Index expected = list_tensors();
  require(file_.size() == expected, shown(path), ": expected ", expected,
          " bytes according to its header, got ", file_.size());
}

void LlmcFile::read_sizes() {
  const LlmcHeader header = read_llmc_header(file_);
  require(header[0] == kLlmcModel, "expected a checkpoint of llm.c");
  require(header[1] == kFloat32Version || header[1] == kBfloat16Version, "version: expected ",
          kFloat32Version, " (float32) or ", kBfloat16Version, " (bfloat16), got ", header[1]);
  const auto size = [&](std::size_t index, const char* name, Index most) {
    require(header[index] >= 1 && header[index] <= most, name, ": expected 1 to ", most, ", got ",
            header[index]);
    return Index{header[index]};
  };
  dtype_ = header[1] == kFloat32Version ? DType::float32 : DType::bfloat16;
  config_.block_size = size(2, "maxT", kLargestSize);
  config_.vocab_size = size(3, "V", kLargestSize);
  config_.n_layer = size(4, "L", kMostLayers);
  config_.n_head = size(5, "NH", kLargestSize);
  config_.n_embd = size(6, "C", kLargestSize);
  padded_vocabulary_ = size(7, "Vp", kLargestSize);
  require(padded_vocabulary_ >= config_.vocab_size,
          "Vp: expected at least V = ", config_.vocab_size, ", got ", padded_vocabulary_);
  config_.activation = Activation::gelu_tanh;
  config_.validate();
}

// Returns the size of the file, or kNoFile.
Index LlmcFile::list_tensors() {
  const Index width = config_.n_embd;
  const std::string prefix = "transformer.";
  EntryList list(static_cast<Index>(element_size(dtype_)), tensors_);
  list.add(prefix + "wte.weight", {config_.vocab_size, width});
  list.skip((padded_vocabulary_ - config_.vocab_size) * width);
  list.add(prefix + "wpe.weight", {config_.block_size, width});
  for (const LayerWeight& weight : kLayerWeights) {
    const Index rows = weight.rows * width;
    for (Index layer = 0; layer < config_.n_layer; ++layer) {
      list.add(concat_text(prefix, "h.", layer, ".", weight.name),
               weight.columns == 0 ? Shape{rows} : Shape{rows, weight.columns * width});
    }
  }
  list.add(prefix + "ln_f.weight", {width});
  list.add(prefix + "ln_f.bias", {width});
  return list.end();
}

Tensor LlmcFile::read(const Entry& entry) const {
  Tensor result = Tensor::empty(entry.shape, dtype_);
  file_.read(entry.begin, writable_bytes_of(result));
  return result;
}

void LlmcFile::read_into(const Entry& entry, Tensor& target) const {
  if (target.dtype() == dtype_) {
    file_.read(entry.begin, writable_bytes_of(target));
  } else {
    target.copy_from(read(entry));
  }
}

WeightFiles llmc_weights(const std::shared_ptr<const LlmcFile>& file) {
  WeightFiles files{.where = shown(file->path()), .described_by = "its header"};
  for (const LlmcFile::Entry& entry : file->tensors()) {
    files.tensors.push_back(
        {.name = entry.name,
         .shape = entry.shape,
         .read = [file, &entry] { return file->read(entry); },
         .read_into = [file, &entry](Tensor& target) { file->read_into(entry, target); }});
  }
  return files;
}

}  // namespace headlight
