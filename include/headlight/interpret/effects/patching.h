#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/interpret/recorded_pass.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Tokens of a text with one role, such as "the name that comes twice".
struct TokenGroup {
  std::string name;
  std::vector<Index> positions;  // from 0
};

// Two texts with equally many tokens that differ in one fact, and the right answer to each.
// Example: "When Tom and Mina met, Tom gave it to", with another name in the corrupt text.
struct PatchingTask {
  std::vector<std::int32_t> clean;    // [T]
  std::vector<std::int32_t> corrupt;  // [T]
  std::vector<std::int32_t> answer;   // continuation of the clean text, one token or more
  std::vector<std::int32_t> wrong;    // continuation of the corrupt text
  std::vector<TokenGroup> groups = {};
  // Position in both texts of the masked token that the answers, single tokens, replace. Needed for
  // bidirectional models only.
  std::optional<Index> mask = {};
  // Measure instead of the difference of the answers, which are not used then: a number from the
  // logits [T, V] after a text. Attribution and circuits need its gradient.
  LogitMetric metric = {};

  // Returns the position whose logits predict the answers' first tokens.
  Index answered_at() const { return mask.value_or(static_cast<Index>(clean.size()) - 1); }
};

// Sets the position of the masked token, which both texts of a bidirectional model must have at the
// same position; nothing for causal models. Throws Error about "clean" or "corrupt".
void set_mask(PatchingTask& task, const LanguageModel& model, const Tokenizer& tokenizer);

// Completes a task that has only texts and maybe answers: calls set_mask(), sets a missing answer
// to the most likely token after (or in) its text, and calls set_metric(). Throws Error as they
// do, and about "wrong" if both answers are the same.
void complete_task(PatchingTask& task, MetricKind kind, const LanguageModel& model,
                   const Tokenizer& tokenizer, RecordedPasses* kept = nullptr);

// Throws Error about "answer" or "wrong" if one is given that the metric does not use.
void check_answers(MetricKind kind, bool has_answer, bool has_wrong);

// Sets the metric of a task by its name. Throws Error about "answer" for a metric of one token and
// an answer of several or none, about "clean" for an empty text with kl, which reads it, and about
// "mask" for a bidirectional model without it.
void set_metric(PatchingTask& task, MetricKind kind, const LanguageModel& model,
                RecordedPasses* kept = nullptr);

// Most likely next token.
struct NextToken {
  std::int32_t id = 0;
  double probability = 0;
};

// ln 2, as a difference of logits.
inline constexpr double kTwiceAsLikely = 0.6931471805599453;

// How clearly the model distinguishes the two texts.
enum class TaskStrength {
  none,   // it fails on a text: prefers the other text's answer, or neither
  weak,   // right on both texts, but less than twice as likely on one of them
  clear,  // right on both texts
};

// Returns how reliable shares of the difference between the texts are, from the differences of the
// answers after each: see PatchGrid.
TaskStrength task_strength(double clean_difference, double corrupt_difference);

// One-line warning if such shares are unreliable, "" for a clear task. The labels name the answers.
std::string patching_caution(double clean_difference, double corrupt_difference,
                             const std::string& answer_label, const std::string& wrong_label);

// Returns the token with the largest of the logits [V] and its softmax. `logits` must not be empty.
NextToken likeliest_token(const std::vector<double>& logits);

// Returns the most likely next token after a text, or the most likely token at position `mask` of a
// bidirectional model. Throws Error about "text" and "mask".
std::int32_t likeliest_next(const LanguageModel& model, const std::vector<std::int32_t>& text,
                            std::optional<Index> mask = {}, RecordedPasses* kept = nullptr);

}  // namespace headlight
