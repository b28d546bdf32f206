#include "headlight/heads/patching.h"

#include <algorithm>
#include <cmath>

#include "heads/effects/forward_replay.h"
#include "heads/effects/head_substitutes.h"
#include "heads/effects/patching_task.h"

namespace headlight {
namespace {

constexpr double kTwiceAsLikely = 0.6931471805599453;  // ln 2, as a difference of logits

void require_token(std::int32_t id, const LanguageModel& model, const char* name) {
  require_value(id >= 0 && id < model.vocab_size(), name, "expected a token from 0 to ",
                model.vocab_size() - 1, ", got ", id);
}

}  // namespace

void check_task(const PatchingTask& task, const LanguageModel& model) {
  require_value(!task.clean.empty(), "clean", "expected at least one token");
  require_value(task.clean.size() == task.corrupt.size(), "corrupt",
                "expected as many tokens as the clean text has, ", task.clean.size(), ", got ",
                task.corrupt.size());
  require_token(task.answer, model, "answer");
  require_token(task.wrong, model, "wrong");
  require_value(task.answer != task.wrong, "wrong", "expected another token than the answer, got ",
                task.wrong, " for both");
}

void require_different(double clean_difference, double corrupt_difference) {
  const double whole = clean_difference - corrupt_difference;
  require(std::isfinite(whole), "the logits of answer and wrong are not finite: clean ",
          clean_difference, ", corrupt ", corrupt_difference);
  require_value(whole != 0, "corrupt",
                "expected texts after which answer and wrong differ in their logits, got ",
                clean_difference, " for both");
}

PatchingResult patch_heads(const LanguageModel& model, const PatchingTask& task) {
  check_task(task, model);
  const ForwardReplay clean(model, make_batch({task.clean}));
  const ForwardReplay corrupt(model, make_batch({task.corrupt}));
  const auto difference = [&](const std::vector<double>& logits) {
    return logits[static_cast<std::size_t>(task.answer)] -
           logits[static_cast<std::size_t>(task.wrong)];
  };
  const std::vector<double> clean_logits = clean.last_logits(0).to_vector();
  const std::vector<double> corrupt_logits = corrupt.last_logits(0).to_vector();
  PatchingResult result{.clean_difference = difference(clean_logits),
                        .corrupt_difference = difference(corrupt_logits),
                        .heads = {},
                        .clean_next = likeliest_token(clean_logits),
                        .corrupt_next = likeliest_token(corrupt_logits)};
  const double whole = result.clean_difference - result.corrupt_difference;
  require_different(result.clean_difference, result.corrupt_difference);
  std::vector<Tensor> substitutes;  // [L] of [T, H D]
  const HeadLayout layout = heads_of(model);
  for (Index layer = 0; layer < layout.layers(); ++layer) {
    substitutes.push_back(to_contiguous(clean.outputs(layer)));
  }
  for (const HeadId& id : HeadSet::all(layout)) {
    ReplaceHeads hook(model, {id}, substitutes);
    const double patched = difference(corrupt.last_logits(0, id.layer, hook).to_vector());
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
             "less than twice as likely as the other, so that the shares (marked ?) may be chance";
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
         ", so that the shares (marked ?) are shares of nothing";
}

std::int32_t likeliest_next(const LanguageModel& model, const std::vector<std::int32_t>& text) {
  require_value(!text.empty(), "text", "expected at least one token");
  return likeliest_token(ForwardReplay(model, make_batch({text})).last_logits(0).to_vector()).id;
}

}  // namespace headlight
