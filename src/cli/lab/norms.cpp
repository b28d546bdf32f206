
#include "base/split.h"
#include "cli/lab/lab.h"
#include "cli/lab/pictures.h"
#include "cli/lab/tensors.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/normalization.h"
#include "headlight/ops/reduce.h"
#include "views/report/table.h"

namespace headlight::cli::lab {
namespace {

Tensor matrix(std::initializer_list<double> values) { return Tensor::from(values, {2, 3}); }

Tensor gain() { return Tensor::ones({3}, DType::float64); }
Tensor shift() { return Tensor::zeros({3}, DType::float64); }

struct BothNorms {
  Tensor layer;
  Tensor batch;
  RunningStatistics running{Tensor::zeros({3}, DType::float64), Tensor::ones({3}, DType::float64)};
};

BothNorms normalized(const Tensor& x) {
  BothNorms result;
  result.layer = layer_norm(x, gain(), shift());
  result.batch = batch_norm(x, gain(), shift(), result.running);
  return result;
}

std::string list_of(const Tensor& x) {
  return joined(transformed(x.to_vector(), [](double value) { return fixed_number(value, 4); }),
                ", ");
}

// Measures one norm, over `axis`. Returns the means and deviations as text.
Json measure(const char* name, const Tensor& x, const Tensor& output, Index axis, Report& report) {
  const ReduceOptions over{.axes = {axis}, .keepdim = true};
  const Tensor means = mean(x, over);
  const Tensor deviations = sqrt(var(x, over, 0));
  const Tensor by_hand = div(sub(x, means), deviations + 1e-7);
  report.values()[name] = {{"mean", means.to_vector()},
                           {"std", deviations.to_vector()},
                           {"output", output.to_vector()},
                           {"distance_by_hand", largest_difference(output, by_hand)}};
  return {{concat_text(name, "_means"), list_of(means)},
          {concat_text(name, "_deviations"), list_of(deviations)}};
}

void draw(const std::string& file, const Tensor& x, Report& report) {
  draw_matrix(file, {.rows = {"0", "1"}, .columns = {"0", "1", "2"}, .values = x.to_vector()},
              report);
}

}  // namespace

void run_norms(const Settings& /*settings*/, Report& report) {
  report.section("introduction");
  const Tensor x = matrix({1, 2, 3, 1, 1, 1});
  BothNorms norms = normalized(x);
  Json moments = measure("layer", x, norms.layer, 1, report);
  moments.update(measure("batch", x, norms.batch, 0, report));
  report.section("moments", moments);
  report.section("both", {{"input_text", named_tensor_text("input", x)},
                          {"layer_text", named_tensor_text("LayerNorm", norms.layer)},
                          {"batch_text", named_tensor_text("BatchNorm", norms.batch)}});
  draw("input.svg", x, report);
  draw("layer_norm.svg", norms.layer, report);
  draw("batch_norm.svg", norms.batch, report);

  const BothNorms other = normalized(matrix({1, 2, 3, 7, -2, 0}));
  const auto change_of_first_row = [](const Tensor& a, const Tensor& b) {
    return largest_difference(slice(a, 0, 0, 1), slice(b, 0, 0, 1));
  };
  const double layer = change_of_first_row(norms.layer, other.layer);
  const double batch = change_of_first_row(norms.batch, other.batch);
  report.values()["layer"]["change_in_other_batch"] = layer;
  report.values()["batch"]["change_in_other_batch"] = batch;
  const Tensor fallback = batch_norm(x, gain(), shift(), norms.running, {.training = false});
  report.values()["batch"]["output_outside_training"] = fallback.to_vector();
  report.section("other_batch", {{"layer_text", named_tensor_text("LayerNorm", other.layer)},
                                 {"batch_text", named_tensor_text("BatchNorm", other.batch)},
                                 {"fallback", named_tensor_text("BatchNorm.eval()", fallback)}});
  report.claim("layer_norm_ignores_the_batch", layer == 0 && batch > 0);
}

}  // namespace headlight::cli::lab
