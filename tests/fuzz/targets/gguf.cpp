#include "headlight/formats/gguf/gguf.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "formats/gguf/gguf_config.h"
#include "formats/huggingface/model_weights.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/formats/gguf/gguf_tokenizer.h"

namespace headlight::fuzz {
namespace {

// File with a correct start, so that mutations reach the parts after it. The first two bytes give
// the numbers of tensors and keys, the third the number of element bytes.
std::string with_counts(std::string_view input) {
  const std::uint64_t counts[] = {take_byte(input) % 8U, take_byte(input) % 8U};
  const std::size_t more = 16U * take_byte(input);
  std::string bytes("GGUF\x03\0\0\0", 8);
  bytes.append(reinterpret_cast<const char*>(counts), sizeof(counts));
  return bytes.append(input).append(more, '\x3C');
}

void check_places(const GgufFile& file, std::size_t file_bytes) {
  std::size_t data_bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    demand(tensor.begin >= 24 && tensor.begin < tensor.end &&
               tensor.end <= static_cast<Index>(file_bytes),
           tensor.name + " lies outside of the file");
    demand(file.find_tensor(tensor.name) == &tensor, tensor.name + " is not found");
    data_bytes += static_cast<std::size_t>(tensor.end - tensor.begin);
  }
  demand(data_bytes + 24 <= file_bytes, "tensors overlap");
}

bool same_bits(const Tensor& a, const float* b) {
  const auto bytes = static_cast<std::size_t>(a.numel()) * sizeof(float);
  return std::memcmp(a.data<float>(), b, bytes) == 0;
}

// Reads a tensor, then its last row again.
Tensor read_twice(const GgufFile& file, const GgufTensor& tensor) {
  Tensor values = file.read(tensor);
  demand(values.shape() == tensor.shape, tensor.name + " has another shape");
  if (values.rank() > 0) {
    const Index width = values.size(-1);
    const Index last = values.numel() / width - 1;
    demand(same_bits(file.read_rows(tensor, last, 1), values.data<float>() + last * width),
           tensor.name + " has other rows");
  }
  return values;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes the tensors in lossless types. The written file must survive another round trip.
void check_written(const GgufFile& file, const std::vector<GgufSource>& sources) {
  static const Folder folder;
  const std::filesystem::path path = folder.path() / "a.gguf";
  if (!accepted([&] { write_gguf(path, file.metadata(), sources); })) {
    return;  // name too long for llama.cpp
  }
  const std::string bytes = contents(path);
  const GgufFile written(path);
  std::vector<GgufSource> again;
  for (const GgufTensor& tensor : written.tensors()) {
    again.push_back({tensor.name, written.read(tensor), tensor.type});
  }
  demand(again.size() == sources.size(), "tensors were lost");
  write_gguf(path, written.metadata(), again);
  demand(contents(path) == bytes, "written again, another file");
}

// The tokenizer in the keys must work.
void use_tokenizer(const GgufFile& file) {
  accepted([&] {
    const auto tokenizer = gguf_tokenizer(file);
    tokenizer->decode(tokenizer->encode("ab  12 \u00E9<s>\n"));
  });
}

// Reads a model that fits its metadata: the file must have every weight.
void use_model(const GgufFile& file) {
  accepted([&] {
    auto [architecture, config] = read_gguf_model(file);
    ModelWeights weights(gguf_weights(file), architecture->layout);
    weights.infer_missing_fields(config);
    weights.check(config);
    const std::unique_ptr<Gpt> model = Gpt::blank(config);
    weights.read_into(*model);
  });
}

}  // namespace

void gguf(std::string_view input) {
  static const MemoryFile memory;
  const bool raw = take_byte(input) % 2 == 0;
  const std::string bytes = raw ? std::string(input) : with_counts(input);
  memory.write(bytes);
  accepted([&] {
    const GgufFile file(memory.path());
    check_places(file, bytes.size());
    for (const auto& [key, value] : file.metadata()) {
      demand(file.find_value(key) == &value, "a key is not found");
    }
    std::vector<GgufSource> sources;
    for (const GgufTensor& tensor : file.tensors()) {
      const bool kept = tensor.type == GgufType::bf16;
      sources.push_back(
          {tensor.name, read_twice(file, tensor), kept ? tensor.type : GgufType::f32});
    }
    check_written(file, sources);
    use_tokenizer(file);
    use_model(file);
  });
}

}  // namespace headlight::fuzz
