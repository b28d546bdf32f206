#include "course/gradcheck/cases.h"
#include "headlight/ops/fused_layers.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/low_rank.h"
#include "headlight/ops/matmul.h"

// Cases of products of matrices, alone and fused with norms and activations.
namespace headlight::cli {
namespace {

void product_cases(GradientCases& to) {
  add(to, "matmul", matmul,
      {{"two matrices", {{2, 3}, {3, 4}}},
       {"two vectors", {{3}, {3}}},
       {"a vector and a matrix", {{3}, {3, 4}}},
       {"a matrix and a vector", {{2, 3}, {3}}},
       {"a vector and a batch", {{3}, {2, 3, 4}}},
       {"a batch and a vector", {{2, 4, 3}, {3}}},
       {"a batch and a matrix", {{2, 3, 4}, {4, 2}}},
       {"a matrix and a batch", {{3, 4}, {2, 4, 2}}},
       {"two batches", {{3, 2, 4}, {3, 4, 2}}},
       {"batches that broadcast", {{2, 1, 3, 2}, {4, 2, 3}}},
       {"inner size 1", {{2, 1}, {1, 3}}},
       {"inner size 0", {{2, 0}, {0, 3}}},
       {"no rows", {{0, 3}, {3, 2}}},
       {"no columns", {{2, 3}, {3, 0}}},
       {"no matrices", {{0, 2, 3}, {3, 2}}},
       {"two transposed matrices", {transposed({3, 4}), transposed({4, 2})}},
       {"a constant on the left", {constant({2, 3}), {3, 2}}},
       {"a tensor and its transpose", {{3, 2}}, [](In x) { return matmul(x, transpose(x)); }},
       {"expanded and sliced inputs",
        {{1, 3}, {6, 2}},
        [](In a, In b) {
          return matmul(expand(a, {4, 3}), slice(b, 0, 0, 6, 2));
        }},
       {"a batch that is an expanded matrix", {{2, 3}, {4, 3, 2}}, [](In a, In b) {
          return matmul(expand(a, {4, 2, 3}), b);
        }}});
}

void einsum_cases(GradientCases& to) {
  const auto contraction = [&](const std::string& equation, const std::vector<Input>& inputs) {
    add(to, "einsum",
        [=](const Inputs& in) {
          return in.size() == 1 ? einsum(equation, in[0]) : einsum(equation, in[0], in[1]);
        },
        {{equation, inputs}});
  };
  contraction("thd,shd->hts", {{3, 2, 2}, {4, 2, 2}});
  contraction("hts,shd->thd", {{2, 3, 4}, {4, 2, 2}});
  contraction("bthd,bshd->bhts", {{2, 2, 1, 3}, {2, 3, 1, 3}});
  contraction("i,j->ij", {{2}, {3}});
  contraction("i,i->", {{4}, {4}});
  contraction("ij,kl->jk", {{2, 3}, {2, 2}});
  contraction("bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}});
  contraction("bij,bij->b", {{2, 2, 3}, {2, 2, 3}});
  contraction("ab,b->ba", {{2, 3}, {3}});
  contraction("ij,jk->ik", {{2, 0}, {0, 3}});
  contraction("ij,->ij", {{2, 3}, {}});
  contraction("ij->ji", {{2, 3}});
  contraction("ijk->j", {{2, 3, 2}});
  contraction("ij->", {transposed({2, 3})});
  add(to, "einsum", [](In x) { return einsum("thd,shd->hts", x, x); },
      {{"one tensor on both sides", {{3, 2, 2}}}});
}

void linear_cases(GradientCases& to) {
  add(to, "linear", [](In x, In weight, In bias) { return linear(x, weight, bias); },
      {{"rows with a bias", {{3, 4}, {2, 4}, {2}}},
       {"no bias", {{3, 4}, {2, 4}}, [](In x, In weight) { return linear(x, weight); }},
       {"a vector", {{4}, {2, 4}, {2}}},
       {"a batch", {{2, 3, 4}, {5, 4}, {5}}},
       {"no rows", {{0, 4}, {2, 4}, {2}}},
       {"no input features", {{3, 0}, {2, 0}, {2}}},
       {"no output features", {{3, 4}, {0, 4}, {0}}},
       {"one feature", {{3, 1}, {1, 1}, {1}}},
       {"transposed inputs", {transposed({3, 4}), transposed({2, 4}), {2}}},
       {"frozen weight", {{3, 4}, constant({2, 4}), {2}}},
       {"one tensor as input and weight", {{3, 4}, {3}}, [](In x, In bias) {
          return linear(x, x, bias);
        }}});
}

void low_rank_cases(GradientCases& to) {
  const auto one = [](In x, In weight, In bias, In a, In b) {
    return low_rank_linear(x, weight, bias, std::vector<LowRankUpdate>{{a, b, 0, 0.5}});
  };
  const auto two = [](In x, In weight, In a, In b, In other_a, In other_b) {
    const std::vector<LowRankUpdate> updates{{a, b, 0, 2}, {other_a, other_b, 3, 0.5}};
    return low_rank_linear(x, weight, {}, updates, {.probability = 0.25, .random = {3, 1}});
  };
  const auto scaled = [](In x, In weight, In bias, In a, In b, In lengths) {
    const std::vector<LowRankUpdate> updates{{a, b, 1, 0.5, lengths}};
    return low_rank_linear(x, weight, bias, updates);
  };
  add(to, "low_rank_linear", one,
      {{"all rows", {{3, 4}, {5, 4}, {5}, {2, 4}, {5, 2}}},
       {"a batch", {{2, 2, 4}, {5, 4}, {5}, {2, 4}, {5, 2}}},
       {"a frozen weight", {{3, 4}, constant({5, 4}), constant({5}), {2, 4}, {5, 2}}},
       {"no rows", {{0, 4}, {5, 4}, {5}, {2, 4}, {5, 2}}},
       {"two updates with dropout", {{3, 4}, {6, 4}, {2, 4}, {2, 2}, {1, 4}, {3, 1}}, two},
       {"lengths of rows",
        {{3, 4}, constant({5, 4}), {5}, constant({2, 4}), constant({3, 2}), {3}},
        scaled},
       {"the whole weight", {{5, 4}, {2, 4}, {2, 2}}, [](In weight, In a, In b) {
          return updated_weight(weight, std::vector<LowRankUpdate>{{a, b, 2, 0.5}});
        }}});
}

// Cases of every activation, with and without a gate.
void activation_cases(GradientCases& to) {
  for (const auto& [name, choice] : kChoices<Activation>) {
    const Activation activation = choice;
    const auto norm = [](In gain) {
      return NormParameters{
          .gain = gain, .shift = {}, .kind = NormKind::rms, .gain_plus_one = true};
    };
    const auto plain = [=](In x, In gain, In up, In down) {
      return feed_forward(x, {norm(gain), up, {}, down, {}, {}, {}, activation});
    };
    const auto gated = [=](In x, In up, In up_bias, In down, In down_bias, In gate, In gate_bias) {
      return feed_forward(x, {norm({}), up, up_bias, down, down_bias, gate, gate_bias, activation});
    };
    add(to, "feed_forward", plain,
        {{std::string(name), {{3, 4}, {4}, {5, 4}, {4, 5}}},
         {std::string(name) + " of a gate",
          {{3, 4}, {5, 4}, {5}, {4, 5}, {4}, {5, 4}, {5}},
          gated}});
  }
}

}  // namespace

void matmul_cases(GradientCases& to) {
  product_cases(to);
  einsum_cases(to);
  linear_cases(to);
  low_rank_cases(to);
}

void fused_layer_cases(GradientCases& to) {
  const auto normed = [](In x, In gain, In shift, In weight, In bias) {
    return norm_linear(x, {gain, shift}, weight, bias);
  };
  add(to, "norm_linear", normed,
      {{"rows", {{3, 4}, {4}, {4}, {5, 4}, {5}}},
       {"a batch", {{2, 2, 3}, {3}, {3}, {2, 3}, {2}}},
       {"transposed operands", {transposed({3, 4}), {4}, {4}, transposed({5, 4}), {5}}},
       {"no rows", {{0, 3}, {3}, {3}, {2, 3}, {2}}},
       {"gain and weight alone",
        {{3, 4}, {4}, {2, 4}},
        [](In x, In gain, In weight) {
          return norm_linear(x, {gain, {}}, weight);
        }},
       {"weight alone", {{3, 4}, {2, 4}}, [](In x, In weight) {
          return norm_linear(x, {}, weight);
        }}});
  const auto whole = [](In x, In gain, In shift, In up, In up_bias, In down, In down_bias) {
    return feed_forward(x, {{gain, shift}, up, up_bias, down, down_bias});
  };
  add(to, "feed_forward", whole,
      {{"rows", {{3, 4}, {4}, {4}, {6, 4}, {6}, {4, 6}, {4}}},
       {"a batch", {{2, 2, 4}, {4}, {4}, {6, 4}, {6}, {4, 6}, {4}}},
       {"a transposed input", {transposed({3, 4}), {4}, {4}, {6, 4}, {6}, {4, 6}, {4}}},
       {"no rows", {{0, 4}, {4}, {4}, {6, 4}, {6}, {4, 6}, {4}}},
       {"weights alone", {{3, 4}, {6, 4}, {4, 6}}, [](In x, In up, In down) {
          return feed_forward(x, {{}, up, {}, down, {}});
        }}});
  activation_cases(to);
}

}  // namespace headlight::cli
