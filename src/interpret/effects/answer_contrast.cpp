#include "interpret/effects/answer_contrast.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/layer_maps.h"

namespace headlight {
namespace {

void check_answer(const std::vector<std::int32_t>& answer, const LanguageModel& model,
                  const char* name, std::size_t length) {
  require_value(!answer.empty(), name, "expected at least one token");
  for (const std::int32_t id : answer) {
    require_value(id >= 0 && id < model.vocab_size(), name, "expected a token from 0 to ",
                  model.vocab_size() - 1, ", got ", id);
  }
  const std::size_t read = length + answer.size() - 1;
  require_value(answer.size() == 1 || static_cast<Index>(read) <= model.block_size(), name,
                "the context length of ", model.block_size(), " tokens is too short for a text of ",
                length, " and an answer of ", answer.size(), " tokens");
}

void check_task(const PatchingTask& task, const LanguageModel& model) {
  require_value(!task.clean.empty(), "clean", "expected at least one token");
  require_value(task.clean.size() == task.corrupt.size(), "corrupt",
                "expected as many tokens as the clean text has, ", task.clean.size(), ", got ",
                task.corrupt.size());
  if (task.metric) {
    const auto read = static_cast<Index>(task.clean.size());
    require_value(read <= model.block_size(), "clean", "expected at most ", model.block_size(),
                  " tokens, the context length, got ", read);
    return;
  }
  require_value(task.mask || model.is_causal(), "mask",
                "expected the position of the masked token, which a bidirectional model predicts");
  check_answer(task.answer, model, "answer", task.clean.size());
  check_answer(task.wrong, model, "wrong", task.clean.size());
  const auto length = static_cast<Index>(task.clean.size());
  require_value(!task.mask || (*task.mask >= 0 && *task.mask < length), "mask", "expected 0 to ",
                length - 1, ", got ", task.mask.value_or(0));
  require_value(!task.mask || (task.answer.size() == 1 && task.wrong.size() == 1), "answer",
                "expected single tokens for a masked token, got ", task.answer.size(), " and ",
                task.wrong.size());
  const auto [answer, wrong] =
      std::mismatch(task.answer.begin(), task.answer.end(), task.wrong.begin(), task.wrong.end());
  require_value(task.answer != task.wrong, "wrong", "expected a token other than the answer, got ",
                task.wrong.front(), task.wrong.size() > 1 ? " and so on" : "", " for both");
  require_value(answer != task.answer.end() && wrong != task.wrong.end(), "wrong",
                "one answer must not begin with the other: the first ",
                answer - task.answer.begin(), " of ", task.answer.size(), " and ",
                task.wrong.size(), " tokens are the same");
}

// The text plus the answer without its last token: the input that predicts the whole answer.
std::vector<std::int32_t> followed(std::vector<std::int32_t> text,
                                   const std::vector<std::int32_t>& answer) {
  text.insert(text.end(), answer.begin(), answer.end() - 1);
  return text;
}

}  // namespace

void AnswerContrast::require_different(double clean, double corrupt) const {
  require(std::isfinite(clean - corrupt),
          metric_ ? "the metric is" : "the logits of answer and wrong are", " not finite: clean ",
          clean, ", corrupt ", corrupt);
  require_value(clean != corrupt, "corrupt", "expected a text that changes the ",
                metric_ ? "metric" : "logit difference of answer and wrong", ", got ", clean,
                " after both texts");
}

AnswerContrast::AnswerContrast(const LanguageModel& model, const PatchingTask& task)
    : metric_(task.metric ? &task.metric : nullptr),
      answers_{&task.answer, &task.wrong},
      multi_token_(!metric_ && (task.answer.size() > 1 || task.wrong.size() > 1)),
      length_(std::ssize(task.clean)),
      answered_at_(task.answered_at()),
      starts_{0} {
  check_task(task, model);
  for (std::size_t i = 0; i < (multi_token_ ? 2 : 1); ++i) {
    starts_.push_back(starts_.back() + length_ + (multi_token_ ? std::ssize(*answers_[i]) - 1 : 0));
  }
}

std::vector<std::vector<std::int32_t>> AnswerContrast::sequences(
    const std::vector<std::int32_t>& text) const {
  if (!multi_token_) {
    return {text};
  }
  return {followed(text, *answers_[0]), followed(text, *answers_[1])};
}

Batch AnswerContrast::batch(const std::vector<std::int32_t>& text) const {
  Batch batch = make_batch(sequences(text));
  batch.targets = Tensor();
  batch.target_count = 0;
  if (multi_token_) {
    std::vector<std::int32_t> targets(static_cast<std::size_t>(batch.token_count()), kIgnoreTarget);
    for (Index sequence = 0; sequence < batch.sequence_count(); ++sequence) {
      const std::vector<std::int32_t>& answer = *answers_[sequence];
      const Index first = batch.offsets[static_cast<std::size_t>(sequence)] + length_ - 1;
      std::copy(answer.begin(), answer.end(), targets.begin() + first);
      batch.target_count += std::ssize(answer);
    }
    batch.targets = Tensor::from(targets, {std::ssize(targets)});
  }
  return batch;
}

Tensor AnswerContrast::of_hidden(const LanguageModel& model, const Tensor& hidden) const {
  if (metric_ != nullptr) {
    const std::optional<Index> row = metric_->row(length_);
    return metric_->of_read(model.head_logits(row ? slice(hidden, 0, *row, *row + 1) : hidden));
  }
  if (!multi_token_) {
    return reshape(logit_difference(model, hidden), {});
  }
  Tensor losses[2];  // losses of the answer and of the wrong answer, summed over tokens
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor targets = Tensor::from(*answers_[i], {std::ssize(*answers_[i])});
    const Tensor rows = answer_rows(hidden, static_cast<Index>(i));
    CrossEntropyOptions sum{.ignore_index = kIgnoreTarget, .normalizer = 1};
    if (const std::optional<LinearHead> head = model.linear_head()) {
      sum.cap = head->cap;
      losses[i] = linear_cross_entropy(rows, head->weight, targets, sum);
    } else {
      losses[i] = cross_entropy(model.head_logits(rows), targets, sum);
    }
  }
  return losses[1] - losses[0];
}

std::vector<double> AnswerContrast::of_copies(const ForwardReplay& replay,
                                              const Tensor& ends) const {
  const NoGrad no_grad;
  if (metric_ != nullptr) {
    return metrics_of_copies(replay, ends);
  }
  if (multi_token_) {
    return losses_of_copies(replay, ends);
  }
  return logit_difference(replay.model(), ends).to_vector();
}

std::vector<double> AnswerContrast::of_runs(
    const ForwardReplay& replay, std::span<const ChangedRun> runs,
    const std::function<void(double share)>& progress) const {
  std::vector<double> differences;
  replay.for_ends(runs, [&](std::size_t, const Tensor& ends) {
    std::ranges::copy(of_copies(replay, ends), std::back_inserter(differences));
    progress(static_cast<double>(differences.size()) / static_cast<double>(runs.size()));
  });
  return differences;
}

std::vector<double> AnswerContrast::losses_of_copies(const ForwardReplay& replay,
                                                     const Tensor& ends) const {
  std::vector<Tensor> rows;
  std::vector<std::int32_t> targets;
  for (Index sequence = 0; sequence < sequences_of(ends); ++sequence) {
    rows.push_back(answer_rows(ends, sequence));
    const std::vector<std::int32_t>& answer = *answers_[sequence % 2];
    targets.insert(targets.end(), answer.begin(), answer.end());
  }
  const std::vector<double> losses =
      replay.token_losses_of(concat(rows, 0), Tensor::from(targets, {std::ssize(targets)}));
  std::vector<double> differences(static_cast<std::size_t>(sequences_of(ends) / 2));
  auto next = losses.begin();
  for (double& difference : differences) {
    const auto wrong = next + std::ssize(*answers_[0]);
    const auto end = wrong + std::ssize(*answers_[1]);
    difference = std::accumulate(wrong, end, 0.0) - std::accumulate(next, wrong, 0.0);
    next = end;
  }
  return differences;
}

std::vector<double> AnswerContrast::metrics_of_copies(const ForwardReplay& replay,
                                                      const Tensor& ends) const {
  constexpr Index kRows = 256;  // all logits may exceed memory
  const std::optional<Index> row = metric_->row(length_);
  const Index rows = row ? 1 : length_;
  const Tensor read = row ? rows_at(ends, *row) : ends;  // [copies rows, C]
  const Index at_once = std::max<Index>(1, kRows / rows);
  std::vector<double> values;
  for (Index first = 0; first < sequences_of(ends); first += at_once) {
    const Index last = std::min(first + at_once, sequences_of(ends));
    const Tensor logits = replay.logits_of(slice(read, 0, first * rows, last * rows));
    for (Index begin = 0; begin < logits.size(0); begin += rows) {
      values.push_back(metric_->of_read(slice(logits, 0, begin, begin + rows)).item());
    }
  }
  return values;
}

double AnswerContrast::difference(const LanguageModel& model, const std::vector<std::int32_t>& text,
                                  ForwardHook* hook) const {
  const NoGrad no_grad;
  return after(model, text, hook).item();
}

Tensor AnswerContrast::logit_difference(const LanguageModel& model, const Tensor& hidden) const {
  return model.logit_difference(rows_at(hidden, answered_at_), answers_[0]->front(),
                                answers_[1]->front());
}

Index AnswerContrast::first_row(Index sequence) const {
  const Index in_copy = std::ssize(starts_) - 1;
  return sequence / in_copy * rows() + starts_[static_cast<std::size_t>(sequence % in_copy)];
}

Tensor AnswerContrast::rows_at(const Tensor& hidden, Index row) const {
  std::vector<std::int32_t> rows;
  for (Index sequence = 0; sequence < sequences_of(hidden); ++sequence) {
    rows.push_back(static_cast<std::int32_t>(first_row(sequence) + row));
  }
  return embedding(hidden, Tensor::from(rows, {std::ssize(rows)}));
}

Tensor AnswerContrast::answer_rows(const Tensor& hidden, Index sequence) const {
  const Index first = first_row(sequence) + length_ - 1;
  return slice(hidden, 0, first, first + std::ssize(*answers_[sequence % 2]));
}

}  // namespace headlight
