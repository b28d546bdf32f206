#include <algorithm>
#include <cmath>
#include <limits>

#include "course/lab.h"
#include "course/report/pictures.h"
#include "course/report/tensors.h"
#include "course/steps.h"
#include "headlight/base/nearest_name.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/softmax.h"
#include "storage/input_file.h"

namespace headlight::cli::lab {
namespace {

using Numbers = std::initializer_list<double>;

constexpr Index kLongestFile = 1 << 27;  // of an input file

// Tensors of one part: texts for the placeholders of its sections, numbers for JSON.
class Steps {
 public:
  Steps(Report& report, const std::string& part, bool scientific)
      : report_(report), part_(part), scientific_(scientific) {}

  // Adds a section.
  void print(const std::string& section) const { report_.section(section, texts_); }

  // Keeps a tensor under a name, with its shape. `label`: name in the text; empty: the same.
  Tensor keep(const std::string& name, const Tensor& tensor, const std::string& label = "") {
    Json& values = report_.values()[part_];
    values[name] = tensor.to_vector();
    const Shape& shape = tensor.shape();
    values["shapes"][name] = std::vector<Index>(shape.begin(), shape.end());
    texts_[name] = named_tensor_text(label.empty() ? name : label, tensor, scientific_);
    return tensor;
  }

  Tensor keep(const std::string& name, Numbers values, const Shape& shape) {
    return keep(name, Tensor::from(values, shape));
  }

  // Keeps attention weights [T, T] or [H, T, T], also as a picture and a figure.
  Tensor keep_weights(const std::string& name, const Tensor& weights) {
    std::vector<std::string> tokens;
    for (Index token = 0; token < weights.size(-1); ++token) {
      tokens.push_back(concat_text("x[", token, "]"));
    }
    texts_["picture"] = weights.rank() == 3
                            ? head_shades(report_.entry("titles", "head"), weights, tokens)
                            : shades(weights, tokens);
    report_.figure(part_ + ".svg", weights_svg(report_.entry("titles", part_), tokens, weights,
                                               report_.language()));
    return keep(name, weights);
  }

 private:
  Report& report_;
  std::string part_;
  bool scientific_;
  Json texts_ = Json::object();
};

// Largest difference between two outputs, relative to the largest output.
double relative_difference(const Tensor& a, const Tensor& b) {
  const double largest = largest_size(a);
  return largest_difference(a, b) / (largest > 0 ? largest : 1);
}

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
  steps.print("single_head");
  return relative_difference(output, scaled_dot_product_attention(querys, keys, values).output);
}

// Input and weights of multi-head attention.
struct Example {
  Tensor x;         // [T, C]
  Tensor w_q;       // [C, H D]
  Tensor w_k;       // [C, H D]
  Tensor w_v;       // [C, H Dv]
  Tensor w_o = {};  // [H Dv, any]; undefined: none
  Index heads = 1;  // H
};

Tensor classroom_x() { return Tensor::from(Numbers{1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1}, {3, 4}); }

Example classroom_example(Index heads) {
  const auto square = [](Numbers values) { return Tensor::from(values, {4, 4}); };
  return {.x = classroom_x(),
          .w_q = square({1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1}),
          .w_k = square({0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1}),
          .w_v = square({1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0, 1, 1, 0}),
          .w_o = square({1, 0, 0.5, 0, 0, 1, 0, 0.5, 0.5, 0, 1, 0, 0, 0.5, 0, 1}),
          .heads = heads};
}

// Matrix of a list of rows. `where` names it in messages.
Tensor matrix_of(const Json& rows, const std::string& where) {
  require(rows.is_array() && !rows.empty(), where, ": expected a list of rows of numbers");
  std::vector<double> values;
  const std::size_t columns = rows[0].is_array() ? rows[0].size() : 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    require(rows[row].is_array() && rows[row].size() > 0, where, ": row ", row,
            ": expected a list of numbers");
    require(rows[row].size() == columns, where, ": row ", row, ": expected as many numbers as in ",
            "row 0, ", columns, ", got ", rows[row].size());
    for (const Json& value : rows[row]) {
      require(value.is_number(), where, ": row ", row, ": expected numbers, got a ",
              value.type_name());
      values.push_back(value.number());
    }
  }
  require(std::ssize(rows) <= kWidest && static_cast<Index>(columns) <= kWidest, where,
          ": expected at most ", kWidest, " rows and columns, got ", rows.size(), " and ", columns);
  return Tensor::from(values, {std::ssize(rows), static_cast<Index>(columns)});
}

void check_example(const Example& example, const std::string& path) {
  const Index width = example.x.size(1);
  const auto check = [&](const char* name, const Tensor& matrix, Index rows, const char* like) {
    require(matrix.size(0) == rows, path, ": ", name, ": expected as many rows as ", like,
            " has columns, ", rows, ", got ", matrix.size(0));
  };
  check("W_Q", example.w_q, width, "x");
  check("W_K", example.w_k, width, "x");
  check("W_V", example.w_v, width, "x");
  require(example.w_k.size(1) == example.w_q.size(1), path,
          ": W_K: expected as many columns as W_Q, ", example.w_q.size(1), ", got ",
          example.w_k.size(1));
  if (example.w_o.defined()) {
    check("W_O", example.w_o, example.w_v.size(1), "W_V");
  }
}

// Throws Error for heads that do not divide the columns, and for too many weights.
void check_heads(const Example& example) {
  const Index heads = example.heads;
  for (const auto& [name, matrix] : {std::pair("W_Q", example.w_q), {"W_V", example.w_v}}) {
    require(heads >= 1 && matrix.size(1) % heads == 0, "--heads: expected a divisor of ",
            matrix.size(1), ", the number of columns of ", name, ", got ", heads);
  }
  check_sizes(
      {.source = "x", .tokens = example.x.size(0), .width = example.w_q.size(1), .heads = heads});
}

Example read_example(const std::string& path, Index heads) {
  const Json json = parse_json(read_whole_file(path, kLongestFile), path);
  require(json.is_object(), path, ": expected an object with x, W_Q, W_K, W_V and optional W_O");
  const std::vector<std::string> names{"x", "W_Q", "W_K", "W_V", "W_O"};
  for (const auto& [name, value] : json.members()) {
    require(std::ranges::find(names, name) != names.end(), path, ": unknown member ",
            quoted_text(name), did_you_mean(name, names),
            "; expected x, W_Q, W_K, W_V and optional W_O");
  }
  const auto matrix = [&](const std::string& name) {
    return matrix_of(json_member(json, name, path), path + ": " + name);
  };
  Example example{.x = matrix("x"),
                  .w_q = matrix("W_Q"),
                  .w_k = matrix("W_K"),
                  .w_v = matrix("W_V"),
                  .w_o = json.contains("W_O") ? matrix("W_O") : Tensor(),
                  .heads = heads};
  check_example(example, path);
  return example;
}

// Query and key [T, H, D] and value [T, H, Dv] of all heads.
struct Heads {
  Tensor query;
  Tensor key;
  Tensor value;
};

void show_example_weights(const Example& example, Steps& steps) {
  steps.keep("x", example.x);
  steps.keep("W_Q", example.w_q);
  steps.keep("W_K", example.w_k);
  steps.keep("W_V", example.w_v);
  steps.print("weights");
  if (example.w_o.defined()) {
    steps.keep("W_O", example.w_o);
    steps.print("output_weight");
  }
}

// Shows the projections, the heads, and the scores of one head as a product of matrices.
Heads example_heads(const Example& example, Steps& steps) {
  const auto by_head = [&](const Tensor& x) {
    return reshape(x, {x.size(0), example.heads, x.size(1) / example.heads});
  };
  const Tensor q = steps.keep("Q", matmul(example.x, example.w_q));
  const Tensor k = steps.keep("K", matmul(example.x, example.w_k));
  const Tensor v = steps.keep("V", matmul(example.x, example.w_v));
  Heads heads{steps.keep("Qh", by_head(q)), steps.keep("Kh", by_head(k)),
              steps.keep("Vh", by_head(v))};
  const Index shown = std::min<Index>(example.heads - 1, 1);
  const auto one = [&](const Tensor& x) { return select(x, 1, shown); };
  const std::string query = concat_text("Qh[:, ", shown, ", :]");
  const std::string key = concat_text("Kh[:, ", shown, ", :].T");
  const Tensor left = steps.keep("head_query", one(heads.query), query);
  const Tensor right = steps.keep("head_key", transpose(one(heads.key)), key);
  steps.keep("head_scores", matmul(left, right), query + " @ " + key);
  steps.print("projections");
  return heads;
}

// Output [T, C] from a single call of scaled_dot_product_attention().
Tensor in_one_call(const Example& example, const Heads& heads, bool causal) {
  const auto by_head = [](const Tensor& x) { return transpose(x, 0, 1); };
  const Tensor output = scaled_dot_product_attention(by_head(heads.query), by_head(heads.key),
                                                     by_head(heads.value), {.causal = causal})
                            .output;
  const Tensor joined = reshape(transpose(output, 0, 1), {example.x.size(0), -1});
  return example.w_o.defined() ? matmul(joined, example.w_o) : joined;
}

// Multiplies weights by values, joins the heads and projects them. Returns the largest difference
// from a single call, relative to the largest output.
double finish(const Example& example, const Heads& heads, const Tensor& scores, bool causal,
              Steps& steps) {
  const Tensor expected = in_one_call(example, heads, causal);
  require(std::ranges::all_of(expected.to_vector(), [](double x) { return std::isfinite(x); }),
          "--input: the numbers are too large, the output is not finite");
  const double root = std::sqrt(static_cast<double>(heads.query.size(2)));
  const Tensor weights = steps.keep_weights("attn", softmax(scores / root));
  const Tensor outputs = steps.keep("out_heads", einsum("hts,shd->thd", weights, heads.value));
  Tensor out = steps.keep("out_concat", reshape(outputs, {example.x.size(0), -1}));
  steps.print("attention");
  if (example.w_o.defined()) {
    out = steps.keep("out", matmul(out, example.w_o));
    steps.print("output");
  }
  return relative_difference(out, expected);
}

Tensor show_example_mask(const Tensor& scores, Steps& steps) {
  const Tensor mask = steps.keep("causal_mask", causal_mask(scores.size(-1)));
  const Tensor masked = steps.keep(
      "scores_masked", masked_fill(scores, mask, -std::numeric_limits<double>::infinity()));
  steps.print("mask");
  return masked;
}

// Shows the user's example. Returns the largest difference from a single call.
double own_example(const Options& options, Report& report) {
  const Index heads = options.given("heads")   ? count_option(options, "heads", 1)
                      : options.given("input") ? 1
                                               : 2;
  const Example example = options.given("input") ? read_example(options.text("input"), heads)
                                                 : classroom_example(heads);
  check_heads(example);
  const bool causal = options.given("causal");
  report.section("own", {{"tokens", example.x.size(0)},
                         {"features", example.x.size(1)},
                         {"heads", heads},
                         {"d_k", example.w_q.size(1) / heads},
                         {"causal", causal}});
  Steps steps(report, "own", false);
  report.values()["own"] = {{"heads", heads}, {"causal", causal}};
  show_example_weights(example, steps);
  const Heads split = example_heads(example, steps);
  const Tensor scores = steps.keep("scores", einsum("thd,shd->hts", split.query, split.key));
  steps.print("scores");
  return finish(example, split, causal ? show_example_mask(scores, steps) : scores, causal, steps);
}

// Shows the classroom example. Returns the largest difference from single calls.
double whole_lesson(Report& report) {
  report.section("introduction");
  double largest = single_head(classroom_x(), report);
  report.section("multi_head");
  const Example example = classroom_example(2);
  Steps multi(report, "multi_head", false);
  show_example_weights(example, multi);
  const Heads heads = example_heads(example, multi);
  const Tensor scores = multi.keep("scores", einsum("thd,shd->hts", heads.query, heads.key));
  multi.print("scores");
  report.section("equal_scores");
  largest = std::max(largest, finish(example, heads, scores, false, multi));
  report.section("masked");
  Steps masked(report, "masked", false);
  largest =
      std::max(largest, finish(example, heads, show_example_mask(scores, masked), true, masked));
  report.section("summary");
  return largest;
}

}  // namespace

void declare_worked_example(Options& options) {
  options
      .value("input",
             "Compute with the x, W_Q, W_K, W_V and optional W_O of this JSON file, each "
             "a list of rows")
      .value("heads", "Number of heads with --input; divides the columns of W_Q and of W_V", "1")
      .flag("causal", "Hide later tokens (with --input)");
  options.paths({"input"});
}

void run_worked_example(const Settings& settings, Report& report) {
  const Options& options = settings.options;
  const bool is_own = options.given("input") || options.given("heads") || options.given("causal");
  const double largest = is_own ? own_example(options, report) : whole_lesson(report);
  report.values()["largest_difference"] = largest;
  report.claim("steps_equal_one_call", largest < 1e-12, {{"difference", largest}});
}

}  // namespace headlight::cli::lab
