#include "headlight/interpret/effects/saliency.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <tuple>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/values_by_point.h"

namespace headlight {
namespace {

// Hook that replaces the embedding of the token at one position by `row` [1, C].
class OccludedToken final : public ForwardHook {
 public:
  OccludedToken(Index position, Tensor row) : position_(position), row_(std::move(row)) {}
  void begin(const Batch& rows) override { positions_ = rows.positions.to_vector(); }
  bool wants(Point point, Index) const override { return point == Point::embed; }
  Tensor visit(const HookSite&, const Tensor& value) override {
    std::vector<double> is_occluded;
    for (const double position : positions_) {
      is_occluded.push_back(position == static_cast<double>(position_) ? 1 : 0);
    }
    const Tensor mask =
        convert(Tensor::from(is_occluded, {std::ssize(is_occluded), 1}), value.dtype());
    return value * (1.0 - mask) + row_ * mask;
  }

 private:
  Index position_;
  Tensor row_;
  std::vector<double> positions_;
};

// One text, the embeddings of its pass [N, C], and those that stand for no input.
class SaliencyText {
 public:
  SaliencyText(const LanguageModel& model, const PatchingTask& task, const SaliencyOptions& options)
      : model_(model),
        task_(task),
        contrast_(model, task),
        length_(std::ssize(task.clean)),
        clean_(embeddings(task.clean)),
        baseline_(options.baseline == SaliencyBaseline::corrupt ? embeddings(task.corrupt)
                                                                : blanked()),
        change_(text_rows(clean_ - baseline_) / static_cast<double>(sequences())) {}

  double metric(RecordedPasses* kept) const {
    const NoGrad no_grad;
    const auto pass = kept == nullptr ? nullptr : kept->of(contrast_.batch(task_.clean));
    return pass == nullptr ? contrast_.difference(model_, task_.clean)
                           : contrast_.of_hidden(model_, pass->ends).item();
  }
  double baseline_metric() const {
    GivenEmbeddings hook(baseline_);
    return contrast_.difference(model_, task_.clean, &hook);
  }

  // The metric of embeddings that are a share `at` of the way from the baseline to the text, and
  // its gradient [T, C] with respect to those of the text.
  std::pair<double, Tensor> gradient(double at) const {
    const Tensor embeddings = at == 1 ? clean_ : baseline_ + (clean_ - baseline_) * at;
    const Tensor leaf = embeddings.detach().clone().set_requires_grad();
    GivenEmbeddings hook(leaf);
    const Tensor measured = contrast_.after(model_, task_.clean, &hook);
    require_value(measured.requires_grad(), "metric",
                  "expected a value with a gradient with respect to the logits");
    backward(measured);
    const Tensor gradient = leaf.grad();
    return {measured.item(), gradient.defined() ? text_rows(gradient)
                                                : Tensor::zeros(change_.shape(), DType::float64)};
  }
  // Products [T] of a gradient with the change from the baseline to the text.
  std::vector<double> products(const Tensor& gradient) const {
    return sum(gradient * change_, {.axes = {1}}).to_vector();
  }
  // The metric, and its falls [T] if a token has its baseline.
  std::pair<double, std::vector<double>> occlusions(const SaliencyOptions& options) const {
    const Batch batch = contrast_.batch(task_.clean);
    auto pass = options.kept == nullptr ? nullptr : options.kept->of(batch);
    if (pass == nullptr) {
      pass = std::make_shared<const RecordedPass>(record_pass(model_, batch));
    }
    const ForwardReplay replay(model_, batch, pass, options.memory);
    std::deque<OccludedToken> hooks;
    std::vector<ChangedRun> runs;
    for (Index t = 0; t < length_; ++t) {
      OccludedToken& hook = hooks.emplace_back(t, slice(baseline_, 0, t, t + 1));
      runs.push_back({&hook, -1, first_computed(model_, t)});
    }
    const double whole = contrast_.of_replay(replay);
    std::vector<double> falls = contrast_.of_runs(replay, runs, options.progress);
    for (double& fall : falls) {
      fall = whole - fall;
    }
    return {whole, std::move(falls)};
  }

 private:
  Index sequences() const { return std::ssize(contrast_.starts()) - 1; }

  Tensor embeddings(const std::vector<std::int32_t>& text) const {
    const NoGrad no_grad;
    KeepValues keep([](Point point, Index) { return point == Point::embed; });
    const Batch batch = contrast_.batch(text);
    model_.residual(batch, 0, {.hook = &keep});
    if (keep.values.empty()) {  // a pass that has no parts
      model_.hidden(batch, {.hook = &keep});
    }
    require_value(!keep.values.empty(), "baseline", "this model does not compute embed");
    return keep.values.at({Point::embed, 0});
  }
  // The embeddings of the text with zeros for its tokens, but not for those of answers.
  Tensor blanked() const {
    std::vector<double> kept(static_cast<std::size_t>(clean_.size(0)), 1.0);
    for (Index i = 0; i < sequences(); ++i) {
      std::fill_n(kept.begin() + contrast_.starts()[static_cast<std::size_t>(i)], length_, 0.0);
    }
    return clean_ * convert(Tensor::from(kept, {std::ssize(kept), 1}), clean_.dtype());
  }
  // Sums of the text's rows over the sequences of the pass, [T, C] in float64.
  Tensor text_rows(const Tensor& values) const {
    Tensor total;
    for (Index i = 0; i < sequences(); ++i) {
      const Index first = contrast_.starts()[static_cast<std::size_t>(i)];
      const Tensor rows = convert(slice(values, 0, first, first + length_), DType::float64);
      total = total.defined() ? total + rows : rows;
    }
    return total;
  }

  const LanguageModel& model_;
  const PatchingTask& task_;
  AnswerContrast contrast_;
  Index length_;
  Tensor clean_;
  Tensor baseline_;
  Tensor change_;  // [T, C], from the baseline to the text
};

// Returns the mean gradient at the middles of the steps from the baseline to the text.
Tensor mean_gradient(const SaliencyText& text, const SaliencyOptions& options) {
  Tensor total;
  for (Index step = 0; step < options.steps; ++step) {
    const double at = (static_cast<double>(step) + 0.5) / static_cast<double>(options.steps);
    const Tensor gradient = text.gradient(at).second;
    total = total.defined() ? total + gradient : gradient;
    options.progress(static_cast<double>(step + 1) / static_cast<double>(options.steps));
  }
  return total / static_cast<double>(options.steps);
}

std::vector<double> lengths(const Tensor& rows) {
  std::vector<double> result = sum(rows * rows, {.axes = {1}}).to_vector();
  for (double& length : result) {
    length = std::sqrt(length);
  }
  return result;
}

}  // namespace

Saliency saliency(const LanguageModel& model, const PatchingTask& task,
                  const SaliencyOptions& options) {
  constexpr Index kMostSteps = 10'000;
  require_value(options.steps >= 1 && options.steps <= kMostSteps, "steps", "expected 1 to ",
                kMostSteps, ", got ", options.steps);
  const FrozenWeights frozen(model);
  const SaliencyText text(model, task, options);
  Saliency result;
  Tensor gradient;
  switch (options.method) {
    case SaliencyMethod::gradient:
      std::tie(result.metric, gradient) = text.gradient(1);
      result.tokens = lengths(gradient);
      break;
    case SaliencyMethod::gradient_x_input:
      std::tie(result.metric, gradient) = text.gradient(1);
      result.tokens = text.products(gradient);
      break;
    case SaliencyMethod::occlusion:
      std::tie(result.metric, result.tokens) = text.occlusions(options);
      break;
    case SaliencyMethod::integrated_gradients:
      result.metric = text.metric(options.kept);
      result.tokens = text.products(mean_gradient(text, options));
      result.baseline = text.baseline_metric();
      result.delta = std::accumulate(result.tokens.begin(), result.tokens.end(), 0.0) -
                     (result.metric - *result.baseline);
  }
  require(std::isfinite(result.metric) && std::isfinite(result.delta.value_or(0)) &&
              std::ranges::all_of(result.tokens, [](double token) { return std::isfinite(token); }),
          "the metric or its attribution to a token is not finite: metric ", result.metric);
  return result;
}

}  // namespace headlight
