#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headlight/tensor/tensor.h"

// Cases of `headlight gradcheck`: every differentiable op on plain and on awkward inputs.
namespace headlight::cli {

using In = const Tensor&;
using Inputs = std::vector<Tensor>;

// A function of all inputs: of one list, or of one parameter for each input.
class CheckedFunction {
 public:
  CheckedFunction() = default;
  template <class F>
  requires(!std::same_as<F, CheckedFunction>) CheckedFunction(F f)
      : call_([f](const Inputs& in) { return call(f, in, {}); }) {}
  operator std::function<Tensor(const Inputs&)>() const { return call_; }
  bool empty() const { return !call_; }

 private:
  template <class F, std::size_t... I>
  static Tensor call(const F& f, const Inputs& in, std::index_sequence<I...>) {
    if constexpr (std::is_invocable_v<F, const Inputs&>) {
      return f(in);
    } else if constexpr (std::is_invocable_v<F, decltype(in[I])...>) {
      return f(in[I]...);
    } else {
      return call(f, in, std::make_index_sequence<sizeof...(I) + 1>());
    }
  }

  std::function<Tensor(const Inputs&)> call_;
};

struct DrawRange {
  double low = -1.5;
  double high = 1.5;
};

// Float64 leaf with reproducible random values, different for each stream.
Tensor draw(const Shape& shape, std::uint64_t stream = 1, DrawRange range = {});
// Values at least 0.1 from 0 and from each other, for ops with kinks.
Tensor distinct(const Shape& shape);
Tensor filled(const Shape& shape, double value);

struct InputForm {
  bool transposed = false;  // a view of two axes, whose elements are not in row-major order
  bool constant = false;    // without a gradient
  std::optional<DrawRange> range{};
};

// An input of a case: a shape for random values, or a leaf.
struct Input {
  Input(std::initializer_list<Index> sizes) : shape(sizes) {}
  Input(const Shape& sizes, const InputForm& its_form = {}) : shape(sizes), form(its_form) {}
  Input(const Tensor& values) : leaf(values) {}

  Shape shape{};
  Tensor leaf{};
  InputForm form{};
};

inline Input transposed(const Shape& shape) { return {shape, {.transposed = true}}; }
inline Input constant(const Shape& shape) { return {shape, {.constant = true}}; }
inline Input within(DrawRange range, const Shape& shape) { return {shape, {.range = range}}; }

// Row of a table of cases.
struct CaseRow {
  std::string description;  // special property of the inputs
  std::vector<Input> inputs;
  CheckedFunction function{};    // empty: the function of the table
  Index elements_per_input = 0;  // size of the random sample to check; 0: all
};

struct GradientCase {
  std::string op;  // cases of one op share a row of the output
  std::string description;
  Inputs inputs;  // float64; checked if they require a gradient
  std::function<Tensor(const Inputs&)> function;
  Index elements_per_input;
};

using GradientCases = std::vector<GradientCase>;

// Adds the cases of a table. Random values are in `range` if their input has no range.
void add(GradientCases& to, const std::string& op, const CheckedFunction& function,
         const std::vector<CaseRow>& rows, DrawRange range = {});

// Adds the cases of a family of ops.
using Family = void(GradientCases& to);
Family elementwise_cases, reduce_cases, layout_cases, matmul_cases, mask_cases, softmax_cases;
Family normalization_cases, fused_layer_cases, embedding_cases, loss_cases, rope_cases;
Family attention_cases, gpt_cases;

// Cases of all functions above, in that order.
GradientCases all_gradient_cases();

}  // namespace headlight::cli
