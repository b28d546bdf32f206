#include "headlight/tensor/named_tensors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/printable.h"
#include "headlight/base/error.h"

namespace headlight {

void copy_tensors(const NamedTensors& from, const NamedTensors& into, const std::string& where) {
  std::map<std::string, Tensor> sources(from.begin(), from.end());
  for (const auto& [name, target] : into) {
    const auto source = sources.find(name);
    require(source != sources.end(), where, ": tensor ", name, " is missing");
    require(source->second.shape() == target.shape(), where, ": tensor ", name, ": expected shape ",
            target.shape(), ", got ", source->second.shape());
    Tensor elements = target;
    elements.copy_from(source->second);
    sources.erase(source);
  }
  require(sources.empty(), where, ": unexpected tensor ",
          sources.empty() ? "" : in_quotes(sources.begin()->first));
}

bool have_elements(const NamedTensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const auto& item) { return item.second.has_elements(); });
}

void require_finite(const NamedTensors& tensors, const std::string& where) {
  for (const auto& [name, tensor] : tensors) {
    require(is_floating(tensor.dtype()), where, name, ": expected floating-point numbers, got ",
            tensor.dtype());
    Tensor elements = to_contiguous(tensor);
    if (tensor.dtype() == DType::bfloat16) {
      elements = Tensor::empty(tensor.shape(), DType::float32);
      elements.copy_from(tensor);
    }
    const bool finite = dispatch_floating(elements.dtype(), "require_finite", [&](auto zero) {
      const auto* values = elements.data<decltype(zero)>();
      return std::all_of(values, values + elements.numel(),
                         [](auto value) { return std::isfinite(value); });
    });
    require(finite, where, name, " contains values that are not finite");
  }
}

}  // namespace headlight
