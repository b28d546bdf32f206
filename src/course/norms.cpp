#include "base/strings/split.h"
#include "course/lab.h"
#include "course/matrix_option.h"
#include "course/report/pictures.h"
#include "course/report/tensors.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/normalization.h"
#include "headlight/ops/reduce.h"
#include "show/report/parts/table.h"

namespace headlight::cli::lab {
namespace {

Tensor matrix(std::initializer_list<double> values) { return Tensor::from(values, {2, 3}); }

// x [R, K] with the gain and the shift [K] of both norms.
struct Given {
  Tensor x;
  Tensor gamma;
  Tensor beta;
};

// Returns gamma or beta: the option, else `fallback` for every feature.
Tensor per_feature(const Options& options, const std::string& name, double fallback,
                   Index features) {
  if (!options.given(name)) {
    return Tensor::ones({features}, DType::float64) * fallback;
  }
  const Tensor row = matrix_option(options, name);
  require(row.size(0) == 1 && row.size(1) == features, "--", name, ": expected ", features,
          " numbers, one for each column of x, got ", row.numel());
  return reshape(row, {features});
}

Given read_input(const Options& options) {
  Given given;
  given.x = options.given("x") ? matrix_option(options, "x") : matrix({1, 2, 3, 1, 1, 1});
  require(given.x.size(0) > 1,
          "--x: expected at least 2 rows, because BatchNorm normalises each column, got 1");
  given.gamma = per_feature(options, "gamma", 1, given.x.size(1));
  given.beta = per_feature(options, "beta", 0, given.x.size(1));
  return given;
}

struct BothNorms {
  Tensor layer = {};
  Tensor batch = {};
  RunningStatistics running = {};
};

BothNorms normalized(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
  const Index features = x.size(1);
  BothNorms result{.running = {Tensor::zeros({features}, DType::float64),
                               Tensor::ones({features}, DType::float64)}};
  result.layer = layer_norm(x, gamma, beta);
  result.batch = batch_norm(x, gamma, beta, result.running);
  return result;
}

BothNorms normalized(const Given& given) { return normalized(given.x, given.gamma, given.beta); }

std::string list_of(const Tensor& x) {
  return joined(transformed(x.to_vector(), [](double value) { return fixed_number(value, 4); }),
                ", ");
}

// Measures one norm, over `axis`. Returns the means and deviations as text.
Json measure_norms(const char* name, const Given& given, const Tensor& plain, const Tensor& output,
                   Index axis, Report& report) {
  const ReduceOptions over{.axes = {axis}, .keepdim = true};
  const Tensor means = mean(given.x, over);
  const Tensor biased = stddev(given.x, over, 0);
  const bool has_unbiased = given.x.size(axis) > 1;
  const Tensor unbiased = has_unbiased ? stddev(given.x, over, 1) : Tensor();
  const Tensor by_hand = div(sub(given.x, means), biased + 1e-7);
  report.values()[name] = {{"mean", means.to_vector()},
                           {"std", biased.to_vector()},
                           {"unbiased_std", has_unbiased ? Json(unbiased.to_vector()) : Json()},
                           {"normalized", plain.to_vector()},
                           {"output", output.to_vector()},
                           {"distance_by_hand", largest_difference(plain, by_hand)}};
  return {{concat_text(name, "_means"), list_of(means)},
          {concat_text(name, "_deviations"), list_of(biased)},
          {concat_text(name, "_unbiased"), has_unbiased ? list_of(unbiased) : "-"}};
}

void draw_norms(const std::string& file, const Tensor& x, Report& report) {
  const auto numbers = [](Index count) {
    std::vector<std::string> names;
    for (Index i = 0; i < count; ++i) {
      names.push_back(std::to_string(i));
    }
    return names;
  };
  draw_matrix(file,
              {.rows = numbers(x.size(0)), .columns = numbers(x.size(1)), .values = x.to_vector()},
              report);
}

// The first sample again, in another batch: [7, -2, 0] below the default, else the other rows
// negated and moved by 7.
Given in_other_batch(const Given& given, bool is_own) {
  Given other = given;
  other.x = is_own
                ? concat({slice(given.x, 0, 0, 1), -slice(given.x, 0, 1, given.x.size(0)) + 7}, 0)
                : matrix({1, 2, 3, 7, -2, 0});
  return other;
}

void compare_batches(const Given& given, const BothNorms& norms, bool is_own, Report& report) {
  const Given changed = in_other_batch(given, is_own);
  const BothNorms other = normalized(changed);
  const auto change_of_first_row = [](const Tensor& a, const Tensor& b) {
    return largest_difference(slice(a, 0, 0, 1), slice(b, 0, 0, 1));
  };
  const double layer = change_of_first_row(norms.layer, other.layer);
  const double batch = change_of_first_row(norms.batch, other.batch);
  report.values()["layer"]["change_in_other_batch"] = layer;
  report.values()["batch"]["change_in_other_batch"] = batch;
  RunningStatistics running = norms.running;
  const Tensor fallback =
      batch_norm(given.x, given.gamma, given.beta, running, {.training = false});
  report.values()["batch"]["output_outside_training"] = fallback.to_vector();
  report.section("other_batch", {{"input_text", named_tensor_text("input", changed.x)},
                                 {"layer_text", named_tensor_text("LayerNorm", other.layer)},
                                 {"batch_text", named_tensor_text("BatchNorm", other.batch)},
                                 {"fallback", named_tensor_text("BatchNorm.eval()", fallback)}});
  report.claim("layer_norm_ignores_the_batch", layer == 0 && batch > 0);
}

}  // namespace

void declare_norms(Options& options) {
  options.value("x", "Normalise this matrix, a list of rows: \"[[1,2,3],[1,1,1]]\"")
      .value("gamma", "Gain of each feature, separated by commas")
      .value("beta", "Shift of each feature, separated by commas");
}

void run_norms(const Settings& settings, Report& report) {
  const bool is_own = settings.options.given("x");
  const Given given = read_input(settings.options);
  report.values() = {{"x", given.x.to_vector()},
                     {"gamma", given.gamma.to_vector()},
                     {"beta", given.beta.to_vector()}};
  report.section("introduction", {{"gamma_text", named_tensor_text("gamma", given.gamma)},
                                  {"beta_text", named_tensor_text("beta", given.beta)}});
  const BothNorms plain = normalized(given.x, Tensor(), Tensor());
  const BothNorms norms = normalized(given);
  Json moments = measure_norms("layer", given, plain.layer, norms.layer, 1, report);
  moments.update(measure_norms("batch", given, plain.batch, norms.batch, 0, report));
  report.section("moments", moments);
  report.section("both", {{"input_text", named_tensor_text("input", given.x)},
                          {"layer_plain", named_tensor_text("x_hat (LayerNorm)", plain.layer)},
                          {"batch_plain", named_tensor_text("x_hat (BatchNorm)", plain.batch)},
                          {"layer_text", named_tensor_text("LayerNorm", norms.layer)},
                          {"batch_text", named_tensor_text("BatchNorm", norms.batch)}});
  if (!is_own) {
    report.section("constant");
  }
  report.section("by_hand");
  draw_norms("input.svg", given.x, report);
  draw_norms("layer_norm.svg", norms.layer, report);
  draw_norms("batch_norm.svg", norms.batch, report);
  compare_batches(given, norms, is_own, report);
}

}  // namespace headlight::cli::lab
