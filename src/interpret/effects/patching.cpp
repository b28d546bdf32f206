#include "headlight/interpret/effects/patching.h"

#include <algorithm>
#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/ops/layout.h"
#include "interpret/layer_maps.h"

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

// Throws Error about "mask" for a bidirectional model without a masked token to predict.
void require_mask(const LanguageModel& model, const std::optional<Index>& mask) {
  require_value(mask || model.is_causal(), "mask",
                "expected the position of the masked token, which a bidirectional model predicts");
}

// Returns the logits after every token of a text [T, V], or after token `row` [1, V].
Tensor logits_of_text(const LanguageModel& model, const std::vector<std::int32_t>& text,
                      std::optional<Index> row, RecordedPasses* kept) {
  const NoGrad no_grad;
  const Batch batch = make_batch({text});
  const bool is_last = row == std::ssize(text) - 1;
  const auto pass = kept == nullptr ? nullptr : kept->of(batch);
  if (pass == nullptr) {  // as where hooks change the model, maybe at its logits
    return is_last ? model.next_logits(batch)
           : row   ? slice(model.logits(batch), 0, *row, *row + 1)
                   : model.logits(batch);
  }
  return model.logits_of(row ? slice(pass->ends, 0, *row, *row + 1) : pass->ends);
}

}  // namespace

void set_mask(PatchingTask& task, const LanguageModel& model, const Tokenizer& tokenizer) {
  if (model.is_causal()) {
    return;
  }
  const std::int32_t mask = masking_of(tokenizer).token;
  const std::string_view name = tokenizer.special_name(mask);
  task.mask.reset();
  for (const auto& [about, text] : {std::pair{"clean", &task.clean}, {"corrupt", &task.corrupt}}) {
    const auto count = std::ranges::count(*text, mask);
    require_value(count == 1, about, "expected one ", name, ", which the answers replace, got ",
                  count);
    const Index position = std::ranges::find(*text, mask) - text->begin();
    require_value(!task.mask || *task.mask == position, about, "expected ", name, " at position ",
                  task.mask.value_or(0), " as in the clean text, got ", position);
    task.mask = position;
  }
}

void complete_task(PatchingTask& task, MetricKind kind, const LanguageModel& model,
                   const Tokenizer& tokenizer, RecordedPasses* kept) {
  set_mask(task, model, tokenizer);
  const auto complete = [&](std::vector<std::int32_t>& answer, const auto& text) {
    if (answer.empty()) {
      answer = {likeliest_next(model, text, task.mask, kept)};
    }
  };
  complete(task.answer, task.clean);
  complete(task.wrong, task.corrupt);
  require_value(task.answer != task.wrong || kind != MetricKind::logit_difference, "wrong",
                "expected a token other than the answer, got '", tokenizer.decode(task.wrong),
                "' for both; name them with answer and wrong");
  set_metric(task, kind, model, kept);
}

void check_answers(MetricKind kind, bool has_answer, bool has_wrong) {
  require_value(!has_wrong || kind == MetricKind::logit_difference, "wrong",
                "needs metric logit_difference, got ", name_of(kind));
  require_value(!has_answer || kind != MetricKind::kl, "answer",
                "has no part in metric kl, which needs no answers");
}

void set_metric(PatchingTask& task, MetricKind kind, const LanguageModel& model,
                RecordedPasses* kept) {
  require_mask(model, task.mask);
  const Index row = task.mask.value_or(-1);
  if (kind == MetricKind::logit_difference) {
    task.metric = {};
  } else if (kind == MetricKind::kl) {
    require_value(!task.clean.empty(), "clean", "expected at least one token");
    task.metric = divergence_metric(logits_of_text(model, task.clean, {}, kept), row);
  } else {
    require_value(task.answer.size() == 1, "answer", "expected one token for the metric ",
                  name_of(kind), ", got ", task.answer.size());
    task.metric = answer_metric(kind, task.answer.front(), row);
  }
}

NextToken likeliest_token(const std::vector<double>& logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) {
    sum += std::exp(logit - *best);
  }
  return {static_cast<std::int32_t>(best - logits.begin()), 1 / sum};
}

TaskStrength task_strength(double clean_difference, double corrupt_difference) {
  if (!(clean_difference > 0 && corrupt_difference < 0)) {
    return TaskStrength::none;
  }
  return std::min(clean_difference, -corrupt_difference) >= kTwiceAsLikely ? TaskStrength::clear
                                                                           : TaskStrength::weak;
}

std::string patching_caution(double clean_difference, double corrupt_difference,
                             const std::string& answer_label, const std::string& wrong_label) {
  switch (task_strength(clean_difference, corrupt_difference)) {
    case TaskStrength::clear:
      return "";
    case TaskStrength::weak:
      return "caution: the model hardly does this task: after one of the texts the right token is "
             "less than twice as likely as the other, so the shares (marked ?) may be chance";
    case TaskStrength::none:
      break;
  }
  const bool after_clean = clean_difference > 0;
  const bool after_corrupt = corrupt_difference > 0;
  const std::string preferred =
      after_clean == after_corrupt
          ? "it prefers '" + (after_clean ? answer_label : wrong_label) + "' after both texts"
          : "it prefers '" + wrong_label + "' after the clean text and '" + answer_label +
                "' after the corrupt one";
  return "caution: the model does not do this task: " + preferred +
         ", so the shares (marked ?) have no meaning";
}

std::int32_t likeliest_next(const LanguageModel& model, const std::vector<std::int32_t>& text,
                            std::optional<Index> mask, RecordedPasses* kept) {
  require_value(!text.empty(), "text", "expected at least one token");
  require_mask(model, mask);
  const Index row = mask.value_or(std::ssize(text) - 1);
  return likeliest_token(logits_of_text(model, text, row, kept).to_vector()).id;
}

}  // namespace headlight
