#include "headlight/interpret/effects/metric_gradients.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "interpret/head_experiments_support.h"
#include "support/test.h"

namespace metric_gradients_test {
constexpr double kStep = 1e-5;

// Hook that adds a number to one element of the value at a site.
class Nudge final : public ForwardHook {
 public:
  Nudge(HookSite site, Index element, double step) : site_(site), element_(element), step_(step) {}
  bool wants(Point point, Index layer) const override {
    return point == site_.point && layer == site_.layer;
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    Tensor changed = to_contiguous(value).clone();
    if (site.sequence == site_.sequence) {
      changed.data<double>()[element_] += step_;
    }
    return changed;
  }

 private:
  HookSite site_;
  Index element_;
  double step_;
};

const PatchingTask kTask = kTwoChanges;

TEST_CASE("gradients of a metric at points are those of finite differences") {
  const auto gpt = random_gpt(three_layers());
  const Batch batch = make_batch({{1, 2, 3, 4}, {5, 6, 7}});
  const LogitMetric metric = [](const Tensor& logits) { return sum(tanh(logits)); };
  const auto measured = [&](ForwardHook* hook) {
    return metric(gpt->logits(batch, {.hook = hook})).item();
  };
  for (const Point point : {Point::embed, Point::resid_pre, Point::q, Point::pattern, Point::z,
                            Point::mlp_post, Point::ln_final, Point::logits}) {
    INFO(name_of(point));
    const MetricGradients result = metric_gradients(*gpt, batch, metric, {{.point = point}});
    CHECK(result.metric == Approx(measured(nullptr)));
    const PointGradient& last = result.points.back();
    CHECK(last.site.layer == (is_in_layer(point) ? 2 : 0));
    CHECK(last.site.sequence == (point == Point::pattern ? 1 : 0));
    CHECK(last.value.shape() == last.gradient.shape());
    const Index element = last.value.numel() / 2;
    Nudge up(last.site, element, kStep);
    Nudge down(last.site, element, -kStep);
    const double expected = (measured(&up) - measured(&down)) / (2 * kStep);
    CHECK(last.gradient.to_vector()[static_cast<std::size_t>(element)] ==
          Approx(expected).epsilon(1e-5).margin(1e-8));
  }
}

TEST_CASE("gradients at several points leave the weights without gradients") {
  const auto gpt = random_gpt(three_layers());
  const MetricGradients result =
      metric_gradients(*gpt, make_batch({{1, 2, 3}}), logit_difference_metric(4, 5),
                       {{.point = Point::resid_mid, .layers = {1, 1}}, {.point = Point::z}});
  REQUIRE(result.points.size() == 4);
  CHECK(result.points[3].site.point == Point::resid_mid);
  CHECK(result.points[3].gradient.shape() == Shape{3, 12});
  for (const auto& [name, weight] : gpt->parameters()) {
    CHECK_FALSE(weight.grad().defined());
    CHECK(weight.requires_grad());
  }
}

TEST_CASE("a metric without a gradient and parts of points are refused") {
  const auto gpt = random_gpt(three_layers());
  const Batch batch = make_batch({{1, 2, 3}});
  const auto error = [&](const LogitMetric& metric, const std::vector<PointRange>& points) {
    return error_of([&] { metric_gradients(*gpt, batch, metric, points); });
  };
  const LogitMetric good = loss_metric(4);
  CHECK(mentions(
      error([](const Tensor&) { return Tensor::scalar(1, DType::float64); }, {{.point = Point::z}}),
      {"metric", "gradient"}));
  CHECK(mentions(error([](const Tensor& logits) { return logits; }, {{.point = Point::z}}),
                 {"metric", "one number"}));
  CHECK(mentions(error(good, {{.point = Point::rot_q}}), {"names", "rot_q"}));
  CHECK(mentions(error(good, {}), {"names"}));
  CHECK(mentions(error(good, {{.point = Point::z, .items = NumberRange{0, 0}}}), {"names", "z"}));
  CHECK(mentions(error(loss_metric(11), {{.point = Point::z}}), {"metric", "11"}));
  CHECK(mentions(error(loss_metric(1, 3), {{.point = Point::z}}), {"metric", "row", "3"}));
}

TEST_CASE("built-in metrics have the values of their formulas") {
  const Tensor logits = Tensor::from({0.0, 0.0, 0.0, std::log(2.0), 0.0, std::log(5.0)}, {2, 3});
  CHECK(logit_difference_metric(2, 0)(logits).item() == Approx(std::log(2.5)));
  CHECK(probability_metric(2)(logits).item() == Approx(0.625));
  CHECK(loss_metric(2, 1)(logits).item() == Approx(-std::log(0.625)));
  CHECK(probability_metric(2, 0)(logits).item() == Approx(1.0 / 3));
  const Tensor even = Tensor::zeros({1, 3}, DType::float64);
  const double expected =
      std::log(1.0 / 3) - (std::log(0.25) + std::log(0.125) + std::log(0.625)) / 3;
  CHECK(divergence_metric(even)(logits).item() == Approx(expected));
  CHECK(divergence_metric(logits)(logits).item() == Approx(0).margin(1e-12));
}

TEST_CASE("patching by the logit difference as a metric equals patching without") {
  const auto gpt = random_gpt(three_layers());
  PatchingTask task = kTask;
  task.answer.clear();
  task.wrong.clear();
  task.metric = logit_difference_metric(3, 8);
  const PatchGridOptions options{
      .point = Point::resid_mid, .by_item = false, .by_position = true, .attribution = true};
  const PatchGrid expected = patch_grid(*gpt, kTask, options);
  const PatchGrid grid = patch_grid(*gpt, task, options);
  REQUIRE(grid.cells.size() == expected.cells.size());
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    CHECK(grid.cells[i].recovered == Approx(expected.cells[i].recovered).margin(1e-9));
    CHECK(grid.cells[i].attribution == Approx(expected.cells[i].attribution).margin(1e-9));
  }
}

TEST_CASE("a metric of one row and the same function of all logits patch alike") {
  const auto gpt = random_gpt(three_layers());
  PatchingTask task = kTask;
  const PatchGridOptions options{.point = Point::resid_pre, .by_item = false, .by_position = true};
  const Index rows = std::ssize(task.clean);
  for (const Index row : {Index{-1}, rows - 2}) {
    task.metric = log_probability_metric(3, row);
    CHECK(task.metric.row(rows) == (row < 0 ? rows - 1 : row));
    const PatchGrid grid = patch_grid(*gpt, task, options);
    task.metric = [metric = task.metric](const Tensor& logits) { return metric(logits); };
    CHECK(!task.metric.row(rows));
    const PatchGrid expected = patch_grid(*gpt, task, options);
    REQUIRE(grid.cells.size() == expected.cells.size());
    for (std::size_t i = 0; i < grid.cells.size(); ++i) {
      CHECK(grid.cells[i].difference == expected.cells[i].difference);
    }
  }
  task.metric = loss_metric(3, rows);
  check_error([&] { patch_grid(*gpt, task, options); }, {"metric", "row"});
}

TEST_CASE("patching by the divergence from the clean text ends at 0") {
  const auto gpt = random_gpt(three_layers());
  PatchingTask task = kTask;
  task.metric = divergence_metric(gpt->logits(make_batch({task.clean})));
  const PatchGrid grid = patch_grid(*gpt, task, {.point = Point::resid_post, .by_item = false});
  CHECK(grid.clean_difference == Approx(0).margin(1e-12));
  CHECK(grid.corrupt_difference > 0.01);
  CHECK(grid.cells.back().recovered == Approx(1));
  check_error(
      [&] {
        task.metric = [](const Tensor&) { return Tensor::scalar(1); };
        patch_grid(*gpt, task, {});
      },
      {"corrupt", "metric"});
}
}  // namespace metric_gradients_test
