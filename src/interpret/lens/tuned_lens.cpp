#include "headlight/interpret/lens/tuned_lens.h"

#include <map>

#include "base/strings/printable.h"
#include "formats/nanogpt/torch_tensors.h"
#include "headlight/base/error.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/matmul.h"

namespace headlight {
namespace {

std::filesystem::path lens_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return path;
  }
  const std::filesystem::path plain = path / "params.safetensors";
  return std::filesystem::exists(plain, ignored) ? plain : path / "params.pt";
}

// Checks a tensor of a translator: a matrix or a bias of the first one's width.
Tensor checked(const std::map<std::string, Tensor>& tensors, const std::string& name,
               const Shape& shape) {
  const auto found = tensors.find(name);
  require_value(found != tensors.end(), name, "is missing");
  require_value(found->second.shape() == shape, name, "expected shape ", shape, ", got ",
                found->second.shape());
  const Tensor values = convert(found->second, DType::float32);
  require_finite({{name, values}}, "");
  return values;
}

}  // namespace

Tensor TunedLens::translated(const Tensor& stream, Index layer) const {
  const Translator& translator = translators[static_cast<std::size_t>(layer)];
  const auto as_stream = [&](const Tensor& tensor) {
    return tensor.defined() ? convert(tensor, stream.dtype()) : tensor;
  };
  return stream + linear(stream, as_stream(translator.weight), as_stream(translator.bias));
}

TunedLens load_tuned_lens(const std::filesystem::path& path) {
  const std::filesystem::path file = lens_file(path);
  const NamedTensors all =
      file.extension() == ".safetensors" ? read_safetensors(file) : read_torch_state(file);
  const std::map<std::string, Tensor> tensors(all.begin(), all.end());
  return in_place(shown(file) + ": ", [&] {
    const auto first = tensors.find("0.weight");
    require_value(first != tensors.end() && first->second.rank() == 2, "0.weight",
                  "expected a matrix [C, C]");
    const Index width = first->second.size(0);
    TunedLens lens;
    for (Index layer = 0; tensors.contains(std::to_string(layer) + ".weight"); ++layer) {
      const std::string name = std::to_string(layer);
      TunedLens::Translator translator{checked(tensors, name + ".weight", {width, width})};
      if (tensors.contains(name + ".bias")) {
        translator.bias = checked(tensors, name + ".bias", {width});
      }
      lens.translators.push_back(std::move(translator));
    }
    return lens;
  });
}

}  // namespace headlight
