#include "course/gradcheck/cases.h"
#include "support/test.h"

// Overwrites each input and the output of every op of `headlight gradcheck` between forward and
// backward. Backward must throw, or the gradients must be those of the original elements.

namespace overwritten_inputs_test {
using Inputs = std::vector<Tensor>;
using cli::GradientCase;
using cli::In;

constexpr int kOutput = -1;  // place of the output among the inputs

// Places whose elements backward reads again, in the first case of an op, or in a case named by op
// and description. The others must not be read.
const std::map<std::string, std::set<int>>& read_again() {
  static const std::map<std::string, std::set<int>> places{
      {"add", {}},
      {"sub", {}},
      {"mul", {0, 1}},
      {"div", {0, 1}},
      {"neg", {}},
      {"pow", {0}},
      {"exp", {kOutput}},
      {"log", {0}},
      {"sqrt", {kOutput}},
      {"tanh", {kOutput}},
      {"relu", {0}},
      {"gelu_tanh", {0}},
      {"gelu_erf", {0}},
      {"cast", {}},
      {"dropout", {}},
      {"reshape", {}},
      {"transpose", {}},
      {"slice", {}},
      {"expand", {}},
      {"concat", {}},
      {"sum", {}},
      {"mean", {}},
      {"var", {}},
      {"max", {0, kOutput}},
      {"softmax", {kOutput}},
      {"log_softmax", {kOutput}},
      {"masked_softmax, a mask", {kOutput}},
      {"masked_fill, a mask", {1}},
      {"where, a mask", {0}},
      {"tril", {}},
      {"matmul", {0, 1}},
      {"einsum, bij,bjk->bik", {0, 1}},
      {"linear", {0, 1}},
      {"embedding, ids", {1}},
      {"cross_entropy, targets", {}},
      {"linear_cross_entropy, targets", {}},
      {"ragged_attention", {0, kOutput}},
      {"layer_norm", {0, 1}},
      {"layer_norm, a copy", {1}},
      {"rms_norm", {0, 1}},
      {"batch_norm", {1}},
      {"norm_linear", {0, 1, 2, 3}},
      {"feed_forward", {0, 1, 2, 3, 5}},
      {"feed_forward, silu of a gate", {0, 1, 3, 5}}};
  return places;
}

// The cases of gradcheck, and some whose masks and ids are inputs that can be overwritten.
cli::GradientCases all_cases() {
  cli::GradientCases cases = cli::all_gradient_cases();
  std::erase_if(cases, [](const GradientCase& one) { return one.op == "gpt"; });
  const Tensor mask = bools({true, false, false, false, true, false}, {2, 3});
  const Tensor ids = ints({2, 0, 2}, {3});
  cli::add(cases, "masked_softmax", masked_softmax, {{"a mask", {{2, 3}, mask}}});
  cli::add(cases, "masked_fill", [](In x, In hidden) { return masked_fill(x, hidden, 5); },
           {{"a mask", {{2, 3}, mask}}});
  cli::add(cases, "where", where, {{"a mask", {mask, {2, 3}, {2, 3}}}});
  cli::add(cases, "embedding", [](In table, In rows) { return embedding(table, rows); },
           {{"ids", {{3, 4}, ids}}});
  cli::add(cases, "cross_entropy", [](In x, In targets) { return cross_entropy(x, targets); },
           {{"targets", {{3, 4}, ids}}});
  cli::add(cases, "linear_cross_entropy",
           [](In x, In weight, In targets) { return linear_cross_entropy(x, weight, targets); },
           {{"targets", {{3, 4}, {5, 4}, ids}}});
  cli::add(cases, "layer_norm",
           [](In x, In gain, In shift) { return layer_norm(transpose(x), gain, shift); },
           {{"a copy", {{4, 5}, {4}, {4}}}});
  cli::add(cases, "cast", [](In x) { return cast(x, DType::float32); }, {{"a matrix", {{2, 3}}}});
  return cases;
}

// Overwrites x with other elements, which stay valid as ids and masks.
void overwrite(Tensor x) {
  std::vector<double> values = x.to_vector();
  std::reverse(values.begin(), values.end());
  for (double& value : values) {
    value = x.dtype() == DType::boolean ? 1 - value : is_floating(x.dtype()) ? 3 - value : 1;
  }
  x.copy_from(Tensor::from(values, x.shape()));
}

Inputs gradients_of(const Tensor& output, const Inputs& inputs) {
  for (Tensor x : inputs) {
    x.zero_grad();
  }
  backward(output, {.gradient = noise(output.shape(), 9, output.dtype())});
  return mapped<Tensor>(inputs, [&](const Tensor& x) {
    return x.grad().defined() ? x.grad().clone() : Tensor::zeros({0});
  });
}

void check_place(const GradientCase& which, int place, const std::set<int>* places) {
  INFO(which.op << ", " << which.description << ", place " << place);
  const Inputs expected = gradients_of(which.function(which.inputs), which.inputs);
  const Tensor output = which.function(which.inputs);
  const bool is_output = place == kOutput;
  Tensor target =
      is_output ? output.detach() : which.inputs[static_cast<std::size_t>(place)].detach();
  const Tensor original = target.clone();
  overwrite(target);
  Inputs actual;
  const std::string message = error_of([&] { actual = gradients_of(output, which.inputs); });
  const bool refused = contains(message, "was overwritten since: expected version");
  CHECK((refused || message == "no error"));
  CHECK((refused || same_bits(actual, expected)));
  if (places != nullptr) {
    CHECK(refused == (places->count(place) == 1));
  }
  target.copy_from(original);
}

TEST_CASE("backward of every op refuses exactly the overwritten inputs that it reads") {
  std::set<std::string> seen;
  std::size_t exact = 0;
  for (const GradientCase& which : all_cases()) {
    const bool is_first = seen.insert(which.op).second;
    const auto by_case = read_again().find(which.op + ", " + which.description);
    const auto by_op = is_first ? read_again().find(which.op) : read_again().end();
    const auto known = by_case != read_again().end() ? by_case : by_op;
    const std::set<int>* places = known != read_again().end() ? &known->second : nullptr;
    exact += places != nullptr ? 1 : 0;
    for (int place = kOutput; place < static_cast<int>(which.inputs.size()); ++place) {
      check_place(which, place, places);
    }
  }
  CHECK(exact == read_again().size());
}
}  // namespace overwritten_inputs_test
