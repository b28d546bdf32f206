#include "optim/parameter_parts.h"

#include "headlight/base/error.h"

namespace headlight {

std::vector<ElementRange> ranges_of(const std::optional<TensorParts>& parts,
                                    const std::string& name, const Tensor& parameter) {
  if (!parts) {
    return {{0, parameter.numel()}};
  }
  const auto found = parts->find(name);
  if (found == parts->end()) {
    return {};
  }
  for (const ElementRange& range : found->second) {
    require(range.begin >= 0 && range.begin <= range.end && range.end <= parameter.numel(),
            "[Optimizer] ", name, ": a part from element ", range.begin, " to ", range.end,
            " of a tensor with ", parameter.numel());
  }
  return found->second;
}

Tensor zeros_for(const std::vector<ElementRange>& ranges, const Tensor& parameter) {
  if (ranges.size() == 1 && ranges.front() == ElementRange{0, parameter.numel()}) {
    return Tensor::zeros(parameter.shape(), parameter.dtype());
  }
  Index count = 0;
  for (const ElementRange& range : ranges) {
    count += range.size();
  }
  return Tensor::zeros({count}, parameter.dtype());
}

}  // namespace headlight
