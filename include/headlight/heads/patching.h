#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/heads/head_id.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// Tokens of a text that play one role in it, "the name that comes twice".
struct TokenGroup {
  std::string name;
  std::vector<Index> positions;  // from 0
};

// Two texts of equally many tokens that differ in what matters, such as "When Tom and Mina met, Tom
// gave it to" with another name, and what should follow each.
struct PatchingTask {
  std::vector<std::int32_t> clean;    // [T]
  std::vector<std::int32_t> corrupt;  // [T]
  std::vector<std::int32_t> answer;   // what follows the clean text, one token or more
  std::vector<std::int32_t> wrong;    // what follows the corrupt one
  std::vector<TokenGroup> groups = {};
};

struct HeadPatch {
  HeadId head;
  // Logarithm of the probability that the answer follows, less that of the wrong one. Of single
  // tokens that is the difference of their logits. Of several it is the sum over the tokens, each
  // read behind the text and the tokens before it.
  double difference = 0;
  double recovered = 0;  // 0: as the corrupt text, 1: as the clean one
};

// A token that may come next.
struct NextToken {
  std::int32_t id = 0;
  double probability = 0;
};

// ln 2, as a difference of logits.
inline constexpr double kTwiceAsLikely = 0.6931471805599453;

// Whether the model tells the two texts apart as the task says.
enum class TaskStrength {
  none,   // not both: the answer is preferred after the clean text, the wrong one after the corrupt
  weak,   // both, but one token is less than twice as likely as the other after one of the texts
  clear,  // both
};

struct PatchingResult {
  double clean_difference = 0;
  double corrupt_difference = 0;
  std::vector<HeadPatch> heads;  // in the order of HeadId
  NextToken clean_next = {};     // the likeliest after the clean text
  NextToken corrupt_next = {};   // and after the corrupt one

  // What `recovered` is worth: only of a model that does the task is it a share of something.
  TaskStrength strength() const;
};

// Activation patching (Meng et al., arXiv 2202.05262; for heads Wang et al., arXiv 2211.00593): the
// model reads the corrupt text, with the output of one head replaced, at every position (also those
// of an answer that is read behind the text), by what it puts out on the clean text. A head that
// recovers much carries what the texts differ in.
// Throws Error when the texts differ in length, are empty or longer than the block (with the answer
// behind them), an id is outside the vocabulary, one of answer and wrong is the other or its
// beginning, or both texts have the same difference.
PatchingResult patch_heads(const LanguageModel& model, const PatchingTask& task);

// In one line, why `recovered` cannot be relied on; "" when the task is done clearly. The labels
// are those of the task's two answers.
std::string patching_caution(const PatchingResult& result, const std::string& answer_label,
                             const std::string& wrong_label);

// The token with the largest of the logits [V], which are not empty, and its softmax.
NextToken likeliest_token(const std::vector<double>& logits);

// The most likely next token after a text. Throws Error as patch_heads does.
std::int32_t likeliest_next(const LanguageModel& model, const std::vector<std::int32_t>& text);

}  // namespace headlight
