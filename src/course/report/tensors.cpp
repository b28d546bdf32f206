#include "course/report/tensors.h"

#include <algorithm>
#include <cmath>

#include "headlight/tensor/print.h"

namespace headlight::cli::lab {

std::string named_tensor_text(const std::string& name, const Tensor& tensor, bool scientific) {
  PrintOptions options{.indent = std::ssize(name) + 3};
  if (!scientific) {
    options.scientific = false;
  }
  const Tensor shown = is_floating(tensor.dtype()) ? convert(tensor, DType::float32) : tensor;
  return name + " = " + tensor_text(shown.detach(), options) + "\n";
}

double largest_size(const Tensor& x) {
  double largest = 0;
  for (const double value : x.to_vector()) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> others = b.to_vector();
  auto other = others.begin();
  double largest = 0;
  for (const double value : a.to_vector()) {
    largest = std::max(largest, std::abs(value - *other++));
  }
  return largest;
}

}  // namespace headlight::cli::lab
