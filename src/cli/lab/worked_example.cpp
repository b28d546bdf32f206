#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/lab/lab.h"
#include "cli/lab/pictures.h"
#include "cli/lab/tensors.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/softmax.h"

namespace headlight::cli::lab {
namespace {

using Numbers = std::initializer_list<double>;

// Tensors of one section: texts for its placeholders, numbers for JSON.
class Steps {
 public:
  Steps(Report& report, const std::string& part, bool scientific)
      : report_(report), part_(part), scientific_(scientific) {}

  // Adds the section.
  void print() { report_.section(part_, texts_); }

  Tensor keep(const std::string& name, const Tensor& tensor) {
    report_.values()[part_][name] = tensor.to_vector();
    return show(name, tensor);
  }

  Tensor keep(const std::string& name, Numbers values, const Shape& shape) {
    return keep(name, Tensor::from(values, shape));
  }

  // Keeps only the text.
  Tensor show(const std::string& name, const Tensor& tensor) {
    texts_[name] = named_tensor_text(name, tensor, scientific_);
    return tensor;
  }

  // Keeps attention weights, also as a figure. The terminal shows the first head.
  Tensor keep_weights(const std::string& name, const Tensor& weights) {
    const Tensor first = weights.rank() == 3 ? reshape(slice(weights, 0, 0, 1), {3, 3}) : weights;
    const std::vector<std::string> tokens{"x[0]", "x[1]", "x[2]"};
    texts_["picture"] = shades(first, tokens);
    report_.figure(part_ + ".svg", weights_svg(report_.entry("titles", part_), tokens, weights));
    return keep(name, weights);
  }

 private:
  Report& report_;
  std::string part_;
  bool scientific_;
  Json texts_ = Json::object();
};

// Shows each step. Returns the largest difference from scaled_dot_product_attention().
double single_head(const Tensor& x, Report& report) {
  Steps steps(report, "single_head", true);
  steps.keep("x", x);
  const auto weight = [&](const char* name, Numbers values) {
    return steps.keep(name, values, {4, 3});
  };
  const Tensor w_query = weight("w_query", {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  const Tensor w_key = weight("w_key", {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0});
  const Tensor w_value = weight("w_value", {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0});
  const Tensor querys = steps.keep("querys", matmul(x, w_query));
  const Tensor keys = steps.keep("keys", matmul(x, w_key));
  const Tensor values = steps.keep("values", matmul(x, w_value));
  const Tensor scores = steps.keep("attn_scores", matmul(querys, transpose(keys)));
  const Tensor root = steps.keep(
      "key_dim_sqrt", sqrt(Tensor::scalar(static_cast<double>(keys.size(-1)), DType::float64)));
  const Tensor weights = steps.keep_weights("attn_scores_softmax", softmax(div(scores, root)));
  const Tensor output = steps.keep("weighted_values", matmul(weights, values));
  steps.print();
  return largest_difference(output, scaled_dot_product_attention(querys, keys, values).output);
}

// Query, key and value [3, 2, 2] of both heads, and the output projection.
struct TwoHeads {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor output_weight;
};

TwoHeads split_heads(const Tensor& x, Steps& steps) {
  const auto weight = [&](const char* name, Numbers values) {
    return steps.keep(name, values, {4, 4});
  };
  const Tensor w_q = weight("W_Q", {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1});
  const Tensor w_k = weight("W_K", {0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1});
  const Tensor w_v = weight("W_V", {1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0, 1, 1, 0});
  const Tensor w_o = weight("W_O", {1, 0, 0.5, 0, 0, 1, 0, 0.5, 0.5, 0, 1, 0, 0, 0.5, 0, 1});
  const Tensor q = steps.keep("Q", matmul(x, w_q));
  const Tensor k = steps.keep("K", matmul(x, w_k));
  const Tensor v = steps.keep("V", matmul(x, w_v));
  return {steps.keep("Qh", reshape(q, {3, 2, 2})), steps.keep("Kh", reshape(k, {3, 2, 2})),
          steps.keep("Vh", reshape(v, {3, 2, 2})), w_o};
}

// Output [3, 4] from a single call of scaled_dot_product_attention().
Tensor in_one_call(const TwoHeads& heads, bool causal) {
  const auto by_head = [](const Tensor& x) { return transpose(x, 0, 1); };
  const Tensor output = scaled_dot_product_attention(by_head(heads.query), by_head(heads.key),
                                                     by_head(heads.value), {.causal = causal})
                            .output;
  return matmul(reshape(transpose(output, 0, 1), {3, 4}), heads.output_weight);
}

// Multiplies weights by values, joins the heads and projects them. Returns the largest difference
// from a single call.
double finish(const TwoHeads& heads, const Tensor& scores, bool causal, Steps& steps) {
  const Tensor weights = steps.keep_weights("attn", softmax(scores / std::sqrt(2.0)));
  const Tensor outputs = steps.keep("out_heads", einsum("hts,shd->thd", weights, heads.value));
  const Tensor joined = steps.keep("out_concat", reshape(outputs, {3, 4}));
  const Tensor out = steps.keep("out", matmul(joined, heads.output_weight));
  return largest_difference(out, in_one_call(heads, causal));
}

}  // namespace

void run_worked_example(const Settings& /*settings*/, Report& report) {
  report.section("introduction");
  const Tensor x = Tensor::from(Numbers{1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1}, {3, 4});
  double largest = single_head(x, report);
  Steps multi(report, "multi_head", false);
  const TwoHeads heads = split_heads(x, multi);
  const Tensor scores = multi.keep("scores", einsum("thd,shd->hts", heads.query, heads.key));
  largest = std::max(largest, finish(heads, scores, false, multi));
  multi.print();
  Steps masked(report, "masked", false);
  const Tensor mask = masked.keep("causal_mask", causal_mask(3));
  const Tensor hidden = masked.show(
      "scores_masked", masked_fill(scores, mask, -std::numeric_limits<double>::infinity()));
  largest = std::max(largest, finish(heads, hidden, true, masked));
  masked.print();
  report.values()["largest_difference"] = largest;
  report.section("summary");
  report.claim("steps_equal_one_call", largest < 1e-12, {{"difference", largest}});
}

}  // namespace headlight::cli::lab
