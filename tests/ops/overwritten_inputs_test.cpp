#include "support/test.h"

// Overwrites each input and the output of every op between forward and backward. Backward must
// throw, or the gradients must be those of the original elements.

namespace overwritten_inputs_test {
using Tensors = std::vector<Tensor>;

constexpr int kOutput = -1;  // index of the output in lists of inputs

struct Case {
  const char* name;
  Tensors inputs;  // floating-point inputs become leaves
  std::function<Tensor(const Tensors&)> op;
  std::vector<int> read_again;  // indices of inputs, or kOutput, whose elements backward reads
};

Tensor positive(const Shape& shape, std::uint64_t stream) {
  return random_uniform(shape, {78, stream}, 0.5, 2, DType::float64);
}

Tensor ids() { return ints({2, 0, 2}, {3}); }
Tensor mask() { return bools({true, false, false, false, true, false}, {2, 3}); }

std::vector<Case> elementwise_cases() {
  const Tensors one{positive({2, 3}, 1)};
  const Tensors two{positive({2, 3}, 1), positive({2, 3}, 2)};
  const auto of = [](Tensor (*op)(const Tensor&)) {
    return [op](const Tensors& in) { return op(in[0]); };
  };
  return {
      {"add", two, [](const Tensors& in) { return in[0] + in[1]; }, {}},
      {"sub", two, [](const Tensors& in) { return in[0] - in[1]; }, {}},
      {"mul", two, [](const Tensors& in) { return in[0] * in[1]; }, {0, 1}},
      {"div", two, [](const Tensors& in) { return in[0] / in[1]; }, {0, 1}},
      {"neg", one, of(neg), {}},
      {"pow", one, [](const Tensors& in) { return pow(in[0], 3); }, {0}},
      {"exp", one, of(exp), {kOutput}},
      {"log", one, of(log), {0}},
      {"sqrt", one, of(sqrt), {kOutput}},
      {"tanh", one, of(headlight::tanh), {kOutput}},
      {"relu", one, of(relu), {0}},
      {"gelu, tanh form", one, [](const Tensors& in) { return gelu(in[0]); }, {0}},
      {"gelu, erf form", one, [](const Tensors& in) { return gelu(in[0], GeluForm::erf); }, {0}},
      {"cast", one, [](const Tensors& in) { return cast(in[0], DType::float32); }, {}},
      {"dropout",
       one,
       [](const Tensors& in) {
         return dropout(in[0], 0.5, {1, 2});
       },
       {}},
  };
}

std::vector<Case> shape_cases() {
  const Tensors one{noise({2, 3}, 1)};
  const Tensors two{noise({2, 3}, 1), noise({2, 3}, 2)};
  return {
      {"reshape", one, [](const Tensors& in) { return reshape(in[0], {6}); }, {}},
      {"transpose", one, [](const Tensors& in) { return transpose(in[0]); }, {}},
      {"slice", one, [](const Tensors& in) { return slice(in[0], 1, 1, 3); }, {}},
      {"expand",
       one,
       [](const Tensors& in) {
         return expand(in[0], {4, 2, 3});
       },
       {}},
      {"concat", two, [](const Tensors& in) { return concat(in, 0); }, {}},
      {"sum", one, [](const Tensors& in) { return sum(in[0], {.axes = {1}}); }, {}},
      {"mean", one, [](const Tensors& in) { return mean(in[0]); }, {}},
      {"var", one, [](const Tensors& in) { return var(in[0]); }, {}},
      {"max", one, [](const Tensors& in) { return max(in[0], {.axes = {1}}); }, {0, kOutput}},
      {"softmax", one, [](const Tensors& in) { return softmax(in[0]); }, {kOutput}},
      {"log_softmax", one, [](const Tensors& in) { return log_softmax(in[0]); }, {kOutput}},
      {"masked_softmax",
       {noise({2, 3}, 1), mask()},
       [](const Tensors& in) { return masked_softmax(in[0], in[1]); },
       {kOutput}},
      {"masked_fill",
       {noise({2, 3}, 1), mask()},
       [](const Tensors& in) { return masked_fill(in[0], in[1], 5); },
       {1}},
      {"where",
       {mask(), noise({2, 3}, 1), noise({2, 3}, 2)},
       [](const Tensors& in) { return where(in[0], in[1], in[2]); },
       {0}},
      {"tril", one, [](const Tensors& in) { return tril(in[0]); }, {}},
  };
}

std::vector<Case> matrix_cases() {
  const Tensors layer{noise({5, 4}, 1), noise({3, 4}, 2), noise({3}, 3)};
  return {
      {"matmul",
       {noise({2, 5, 4}, 1), noise({2, 4, 3}, 2)},
       [](const Tensors& in) { return matmul(in[0], in[1]); },
       {0, 1}},
      {"einsum",
       {noise({5, 4}, 1), noise({4, 3}, 2)},
       [](const Tensors& in) { return einsum("ab,bc->ac", in[0], in[1]); },
       {0, 1}},
      {"linear", layer, [](const Tensors& in) { return linear(in[0], in[1], in[2]); }, {0, 1}},
      {"embedding",
       {noise({3, 4}, 1), ids()},
       [](const Tensors& in) { return embedding(in[0], in[1]); },
       {1}},
      {"cross_entropy",
       {noise({3, 4}, 1), ids()},
       [](const Tensors& in) { return cross_entropy(in[0], in[1]); },
       {}},
      {"linear_cross_entropy",
       {noise({3, 4}, 1), noise({5, 4}, 2), ids()},
       [](const Tensors& in) { return linear_cross_entropy(in[0], in[1], in[2]); },
       {}},
      {"ragged_attention",
       {noise({7, 3 * 6}, 1)},
       [](const Tensors& in) {
         return ragged_attention(in[0], {.heads = 2, .offsets = {0, 4, 7}});
       },
       {0, kOutput}},
  };
}

std::vector<Case> norm_cases() {
  const Tensors norm{noise({5, 4}, 1), noise({4}, 2), noise({4}, 3)};
  const auto and_more = [&](const Tensors& more) {
    Tensors all = norm;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  return {
      {"layer_norm",
       norm,
       [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); },
       {0, 1}},
      {"layer_norm of a copy",
       {noise({4, 5}, 1), noise({4}, 2), noise({4}, 3)},
       [](const Tensors& in) { return layer_norm(transpose(in[0]), in[1], in[2]); },
       {1}},
      {"norm_linear",
       and_more({noise({3, 4}, 4), noise({3}, 5)}),
       [](const Tensors& in) {
         return norm_linear(in[0], {.gain = in[1], .shift = in[2]}, in[3], in[4]);
       },
       {0, 1, 2, 3}},
      {"feed_forward",
       and_more({noise({6, 4}, 4), noise({6}, 5), noise({4, 6}, 6), noise({4}, 7)}),
       [](const Tensors& in) {
         return feed_forward(in[0], {.norm = {.gain = in[1], .shift = in[2]},
                                     .up_weight = in[3],
                                     .up_bias = in[4],
                                     .down_weight = in[5],
                                     .down_bias = in[6]});
       },
       {0, 1, 2, 3, 5}},
      {"feed_forward with a gate",
       {noise({4, 4}, 1), noise({6, 4}, 4), noise({6}, 5), noise({4, 6}, 6), noise({6, 4}, 7),
        noise({6}, 8)},
       [](const Tensors& in) {
         return feed_forward(in[0], {.norm = {},
                                     .up_weight = in[1],
                                     .up_bias = in[2],
                                     .down_weight = in[3],
                                     .down_bias = {},
                                     .gate_weight = in[4],
                                     .gate_bias = in[5],
                                     .activation = Activation::silu});
       },
       {0, 1, 3, 4}},
      {"rms_norm",
       {noise({3, 4}, 1), noise({4}, 2)},
       [](const Tensors& in) { return rms_norm(in[0], in[1]); },
       {0, 1}},
      {"batch_norm in training",
       norm,
       [](const Tensors& in) {
         RunningStatistics running{Tensor::zeros({4}, DType::float64),
                                   Tensor::ones({4}, DType::float64)};
         return batch_norm(in[0], in[1], in[2], running, {.training = true});
       },
       {1}},
  };
}

Tensors fresh_inputs(const Case& which) {
  Tensors inputs;
  for (const Tensor& x : which.inputs) {
    inputs.push_back(x.clone());
    if (is_floating(x.dtype())) {
      inputs.back().set_requires_grad();
    }
  }
  return inputs;
}

// Overwrites x with other elements, which stay valid as ids and masks.
void overwrite(Tensor x) {
  const std::vector<double> values = x.to_vector();
  std::vector<double> others(values.rbegin(), values.rend());
  for (double& value : others) {
    value = x.dtype() == DType::boolean ? 1 - value : is_floating(x.dtype()) ? 3 - value : 1;
  }
  x.copy_from(Tensor::from(others, x.shape()));
}

Tensors gradients_of(const Tensor& output, const Tensors& inputs) {
  backward(output, {.gradient = noise(output.shape(), 9, output.dtype())});
  Tensors gradients;
  for (const Tensor& x : inputs) {
    gradients.push_back(x.grad().defined() ? x.grad() : Tensor::zeros({0}));
  }
  return gradients;
}

void check_place(const Case& which, int place) {
  INFO(which.name << (place == kOutput ? ", its output" : ", input " + std::to_string(place)));
  const Tensors untouched = fresh_inputs(which);
  const Tensors expected = gradients_of(which.op(untouched), untouched);
  const Tensors inputs = fresh_inputs(which);
  const Tensor output = which.op(inputs);
  overwrite(place == kOutput ? output.detach() : inputs[static_cast<std::size_t>(place)].detach());
  Tensors actual;
  const std::string message = error_of([&] { actual = gradients_of(output, inputs); });
  const bool needed =
      std::find(which.read_again.begin(), which.read_again.end(), place) != which.read_again.end();
  CHECK(mentions(message, {needed ? "was overwritten since: expected version" : "no error"}));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK(same_bits(actual[i], expected[i]));
  }
}

void check_all(const std::vector<Case>& cases) {
  for (const Case& which : cases) {
    for (int place = kOutput; place < static_cast<int>(which.inputs.size()); ++place) {
      check_place(which, place);
    }
  }
}

TEST_CASE("backward of elementwise ops refuses exactly the overwritten inputs that it reads") {
  check_all(elementwise_cases());
}

TEST_CASE(
    "backward of layouts and reductions and masks refuses exactly the overwritten inputs it "
    "reads") {
  check_all(shape_cases());
}

TEST_CASE("backward of products and losses and attention refuses the overwritten inputs it reads") {
  check_all(matrix_cases());
}

TEST_CASE(
    "backward of plain and fused norms refuses exactly the overwritten inputs that it reads") {
  check_all(norm_cases());
}
}  // namespace overwritten_inputs_test
