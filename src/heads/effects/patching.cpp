#include "headlight/heads/effects/patching.h"

#include <algorithm>
#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "heads/effects/answer_contrast.h"
#include "heads/effects/forward_replay.h"
#include "heads/effects/replace_heads.h"

namespace headlight {
namespace {

// Returns the metric of the answer's only token.
LogitMetric answer_metric(MetricKind kind, std::int32_t answer, Index row) {
  switch (kind) {
    case MetricKind::probability:
      return probability_metric(answer, row);
    case MetricKind::log_probability:
      return log_probability_metric(answer, row);
    default:
      return loss_metric(answer, row);
  }
}

}  // namespace

void set_metric(PatchingTask& task, MetricKind kind, const LanguageModel& model) {
  const Index row = task.mask.value_or(-1);
  if (kind == MetricKind::logit_difference) {
    task.metric = {};
  } else if (kind == MetricKind::kl) {
    require_value(!task.clean.empty(), "clean", "expected at least one token");
    const NoGrad no_grad;
    task.metric = divergence_metric(model.logits(make_batch({task.clean})), row);
  } else {
    require_value(task.answer.size() == 1, "answer", "expected one token for the metric ",
                  name_of(kind), ", got ", task.answer.size());
    task.metric = answer_metric(kind, task.answer.front(), row);
  }
}

PatchingResult patch_heads(const LanguageModel& model, const PatchingTask& task,
                           const std::function<void(double share)>& progress) {
  const AnswerContrast contrast(model, task);
  const ForwardReplay clean(model, contrast.batch(task.clean));
  const ForwardReplay corrupt(model, contrast.batch(task.corrupt));
  const auto next_of = [&](const ForwardReplay& replay) {
    return likeliest_token(replay.logits_of(replay.ends(), task.answered_at()).to_vector());
  };
  PatchingResult result{.clean_difference = contrast.of(clean, clean.ends()),
                        .corrupt_difference = contrast.of(corrupt, corrupt.ends()),
                        .heads = {},
                        .clean_next = next_of(clean),
                        .corrupt_next = next_of(corrupt)};
  const double whole = result.clean_difference - result.corrupt_difference;
  contrast.require_different(result.clean_difference, result.corrupt_difference);
  const HeadSet heads = HeadSet::all(heads_of(model));
  for (const HeadId& id : heads) {
    ReplaceHeads hook(model, {id}, clean.outputs());
    const double patched = contrast.of(corrupt, corrupt.ends(id.layer, hook));
    result.heads.push_back({id, patched, (patched - result.corrupt_difference) / whole});
    progress(static_cast<double>(result.heads.size()) / static_cast<double>(heads.size()));
  }
  return result;
}

NextToken likeliest_token(const std::vector<double>& logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) {
    sum += std::exp(logit - *best);
  }
  return {static_cast<std::int32_t>(best - logits.begin()), 1 / sum};
}

TaskStrength PatchingResult::strength() const {
  if (!(clean_difference > 0 && corrupt_difference < 0)) {
    return TaskStrength::none;
  }
  return std::min(clean_difference, -corrupt_difference) >= kTwiceAsLikely ? TaskStrength::clear
                                                                           : TaskStrength::weak;
}

std::string patching_caution(const PatchingResult& result, const std::string& answer_label,
                             const std::string& wrong_label) {
  switch (result.strength()) {
    case TaskStrength::clear:
      return "";
    case TaskStrength::weak:
      return "caution: the model hardly does this task: after one of the texts the right token is "
             "less than twice as likely as the other, so the shares (marked ?) may be chance";
    case TaskStrength::none:
      break;
  }
  const bool after_clean = result.clean_difference > 0;
  const bool after_corrupt = result.corrupt_difference > 0;
  const std::string preferred =
      after_clean == after_corrupt
          ? "it prefers '" + (after_clean ? answer_label : wrong_label) + "' after both texts"
          : "it prefers '" + wrong_label + "' after the clean text and '" + answer_label +
                "' after the corrupt one";
  return "caution: the model does not do this task: " + preferred +
         ", so the shares (marked ?) have no meaning";
}

std::int32_t likeliest_next(const LanguageModel& model, const std::vector<std::int32_t>& text,
                            std::optional<Index> mask) {
  require_value(!text.empty(), "text", "expected at least one token");
  const NoGrad no_grad;
  const Batch batch = make_batch({text});
  const Tensor logits =
      mask ? slice(model.logits(batch), 0, *mask, *mask + 1) : model.next_logits(batch);
  return likeliest_token(logits.to_vector()).id;
}

}  // namespace headlight
