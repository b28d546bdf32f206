#include "interpret/effects/token_losses.h"

#include <algorithm>
#include <span>

#include "headlight/nn/token_distribution.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"

namespace headlight {
namespace {

// Logits to compute at a time.
constexpr Index kLogitsAtOnce = Index{1} << 24;

// Computes logits only for rows with a target, and only some at a time: all of them may exceed
// memory.
std::vector<double> losses_of_logits(const LanguageModel& model, const Tensor& hidden,
                                     const Tensor& targets) {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> wanted;
  for (Index row = 0; row < targets.numel(); ++row) {
    if (const std::int32_t target = targets.data<std::int32_t>()[row]; target != kIgnoreTarget) {
      rows.push_back(static_cast<std::int32_t>(row));
      wanted.push_back(target);
    }
  }
  std::vector<double> losses(static_cast<std::size_t>(targets.numel()));
  const auto together =
      static_cast<std::size_t>(std::max<Index>(1, kLogitsAtOnce / model.vocab_size()));
  for (std::size_t first = 0; first < rows.size(); first += together) {
    const std::size_t count = std::min(together, rows.size() - first);
    const Shape shape{static_cast<Index>(count)};
    const Tensor some_rows =
        Tensor::from(std::span<const std::int32_t>(rows).subspan(first, count), shape);
    const Tensor some_wanted =
        Tensor::from(std::span<const std::int32_t>(wanted).subspan(first, count), shape);
    const std::vector<double> some =
        losses_of_rows(model.head_logits(embedding(hidden, some_rows)), some_wanted);
    for (std::size_t i = 0; i < count; ++i) {
      losses[static_cast<std::size_t>(rows[first + i])] = some[i];
    }
  }
  return losses;
}

}  // namespace

std::vector<double> losses_of_rows(const Tensor& logits, const Tensor& targets) {
  const Tensor rows = to_contiguous(convert(logits, DType::float32));
  const auto vocabulary = static_cast<std::size_t>(rows.size(1));
  std::vector<double> losses(static_cast<std::size_t>(rows.size(0)));
  for (std::size_t row = 0; row < losses.size(); ++row) {
    const std::int32_t target = targets.data<std::int32_t>()[row];
    if (target != kIgnoreTarget) {
      const TokenDistribution expected({rows.data<float>() + row * vocabulary, vocabulary});
      losses[row] = -expected.log_probability(target);
    }
  }
  return losses;
}

std::vector<double> divergences_of_rows(const Tensor& before, const Tensor& logits,
                                        const Tensor& targets) {
  const Tensor first = to_contiguous(convert(before, DType::float32));
  const Tensor second = to_contiguous(convert(logits, DType::float32));
  const auto vocabulary = static_cast<std::size_t>(first.size(1));
  std::vector<double> divergences(static_cast<std::size_t>(first.size(0)));
  for (std::size_t row = 0; row < divergences.size(); ++row) {
    if (targets.data<std::int32_t>()[row] == kIgnoreTarget) {
      continue;
    }
    const TokenDistribution p({first.data<float>() + row * vocabulary, vocabulary});
    const TokenDistribution q({second.data<float>() + row * vocabulary, vocabulary});
    divergences[row] = q.cross_entropy(p.probabilities()) - p.entropy();
  }
  return divergences;
}

std::vector<double> token_losses(const LanguageModel& model, const Tensor& hidden,
                                 const Tensor& targets) {
  const std::optional<LinearHead> head = model.linear_head();
  return head ? linear_cross_entropy_rows(hidden, head->weight, targets,
                                          {.ignore_index = kIgnoreTarget, .cap = head->cap})
                    .to_vector()
              : losses_of_logits(model, hidden, targets);
}

}  // namespace headlight
