#include "headlight/autograd/gradient_check.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "headlight/autograd/autograd.h"
#include "headlight/tensor/random.h"

namespace headlight {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

double weighted_sum(const Tensor& output, const Tensor& weights) {
  const std::vector<double> values = output.to_vector();
  const double* factors = weights.data<double>();
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i] * factors[i];
  }
  return sum;
}

// Returns an element of a tensor with any strides, by its row-major index. The caller restores the
// element, so this does not raise the version, and graphs with the tensor stay valid.
double& element_at(Tensor& x, Index position) {
  Index offset = 0;
  for (Index axis = x.rank() - 1; axis >= 0; --axis) {
    offset += position % x.shape()[axis] * x.strides()[axis];
    position /= x.shape()[axis];
  }
  return x.data<double>()[offset];
}

std::string ten_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", value);
  return text.data();
}

void note(GradientCheckResult& result, double analytic, double numeric, std::size_t input,
          Index element, const GradientCheckOptions& options) {
  const double error = std::abs(analytic - numeric);
  const double floor = options.absolute_tolerance / options.relative_tolerance;
  const double relative = error == 0 ? 0 : error / std::max(std::abs(numeric), floor);
  const bool passed =
      error <= options.absolute_tolerance + options.relative_tolerance * std::abs(numeric);
  ++result.elements;
  // Written so that NaN becomes and stays the largest error.
  const bool is_worst = !(relative <= result.largest_error) && !std::isnan(result.largest_error);
  if (!passed && (is_worst || result.passed)) {
    result.worst = concat_text("input ", input, ", element ", element, ": backward gives ",
                               ten_digits(analytic), ", central differences ", ten_digits(numeric));
  }
  result.largest_error = is_worst ? relative : result.largest_error;
  result.passed = result.passed && passed;
}

std::vector<Index> elements_to_check(const Tensor& input, const GradientCheckOptions& options,
                                     std::uint64_t stream) {
  const bool all = options.elements_per_input == 0 || input.numel() <= options.elements_per_input;
  const Index count = all ? input.numel() : options.elements_per_input;
  std::vector<Index> elements;
  const RandomStream random{options.seed, stream};
  for (Index i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const auto drawn = random.below(index, static_cast<std::uint64_t>(input.numel()));
    elements.push_back(all ? i : static_cast<Index>(drawn));
  }
  return elements;
}

}  // namespace

GradientCheckResult check_gradients(const Function& function, const std::vector<Tensor>& inputs,
                                    const GradientCheckOptions& options) {
  std::vector<Tensor> variables = inputs;
  for (Tensor& variable : variables) {
    require(!variable.requires_grad() || variable.dtype() == DType::float64,
            "[check_gradients] expected float64 inputs, got ", variable.dtype());
    variable.zero_grad();
  }
  const Tensor output = function(variables);
  const Tensor weights =
      random_uniform(output.shape(), {options.seed, 0}, 0.5, 1.5, DType::float64);
  if (output.requires_grad()) {
    backward(output, {.gradient = weights});
  }

  GradientCheckResult result;
  const NoGrad no_grad;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    Tensor& variable = variables[k];
    if (!variable.requires_grad()) {
      continue;
    }
    const Tensor gradient = variable.grad().defined()
                                ? variable.grad()
                                : Tensor::zeros(variable.shape(), DType::float64);
    for (const Index element : elements_to_check(variable, options, k + 1)) {
      double& value = element_at(variable, element);
      const double original = value;
      value = original + options.epsilon;
      const double above = weighted_sum(function(variables), weights);
      value = original - options.epsilon;
      const double below = weighted_sum(function(variables), weights);
      value = original;
      const double numeric = (above - below) / (2 * options.epsilon);
      note(result, gradient.data<double>()[element], numeric, k, element, options);
    }
    variable.zero_grad();
  }
  return result;
}

}  // namespace headlight
