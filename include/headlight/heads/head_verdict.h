#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

struct ScoredHead;

// What a head is called when one of some scores reaches a threshold. Rules of the first rank that
// has any come before those of later ranks; within a rank the highest score wins.
struct VerdictRule {
  std::string_view name;                 // "previous_token"
  std::string_view label;                // "previous token"
  std::vector<std::string_view> scores;  // the largest of them counts
  double threshold = 0;
  int rank = 0;
  // "{head} looks at the previous token: {score} of its weight"; also {offset}, {name} and
  // {meaning}, of the score that decided.
  std::string_view english;
  std::string_view korean;
};

// In the order of rank. The last, "mixed", needs nothing.
const std::vector<VerdictRule>& verdict_rules();

struct Verdict {
  std::string_view name;     // "previous_token"
  std::string_view label;    // "previous token"
  std::string_view measure;  // name of the score that decided
  double score = 0;          // its value; of "mixed": the best of the first two ranks
  std::string_view leans;    // of "mixed": the label of the rule with that score
};

enum class Language { english, korean };

// "en" or "ko". Throws Error "lang: ..." for other names.
Language parse_language(std::string_view name);

Verdict judge_head(const ScoredHead& head);
// What the head does, in one sentence without a full stop at its end.
std::string head_sentence(const ScoredHead& head, Language language = Language::english);

}  // namespace headlight
