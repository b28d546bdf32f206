#include "headlight/heads/effects/patching.h"

#include <algorithm>
#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "heads/effects/answer_contrast.h"
#include "heads/effects/forward_replay.h"
#include "heads/effects/replace_heads.h"

namespace headlight {
PatchingResult patch_heads(const LanguageModel& model, const PatchingTask& task) {
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
  for (const HeadId& id : HeadSet::all(heads_of(model))) {
    ReplaceHeads hook(model, {id}, clean.outputs());
    const double patched = contrast.of(corrupt, corrupt.ends(id.layer, hook));
    result.heads.push_back({id, patched, (patched - result.corrupt_difference) / whole});
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
