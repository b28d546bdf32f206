#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/tensor/shape.h"

namespace headlight {

struct ScoredHead;

// What a head is called when one of some scores reaches a threshold. Rules of the first rank that
// has any come before those of later ranks; within a rank the highest score wins.
struct VerdictRule {
  std::string_view name;   // "previous_token"
  std::string_view label;  // "previous token"
  std::string_view korean_label;
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
  std::string_view measure;  // name of the score that decided
  double score = 0;          // its value; of "mixed": the best of the first two ranks
  std::string_view leans;    // of "mixed": the name of the rule with that score
  // What `score` may be on more of the same text, at 95 %: the bootstrap's interval where it is of
  // enough documents (kEnoughDocuments), else at least Hoeffding's, bounded_mean().
  Interval range = {};
  double places = 0;  // queries that `score` is the mean over
  // The whole range lies on the same side of the threshold as the score; of "mixed": no score of
  // the first two ranks that was measured reaches its threshold anywhere in its range. A verdict
  // that is not settled rests on too little text to be told from chance.
  bool settled = false;
};

enum class Language { english, korean };

template <>
inline constexpr auto kChoices<Language> =
    std::to_array<Choice<Language>>({{"en", Language::english}, {"ko", Language::korean}});

Verdict judge_head(const ScoredHead& head);
// "previous token" or "바로 앞 토큰" for "previous_token". Throws Error for what is no verdict.
std::string_view verdict_label(std::string_view name, Language language = Language::english);
// What the head does, in one sentence without a full stop at its end. When that is not settled, the
// sentence says so with the range and the places.
std::string head_sentence(const ScoredHead& head, Language language = Language::english);

// ", where even weights give 0.07": for a head that fits no pattern, to stand behind its sentence;
// it tells whether the score that came nearest says something. "" for others, and where that is
// not known (ScoreValue::even).
std::string even_weights_text(const ScoredHead& head, Language language = Language::english);

// How many of these heads have verdicts that are not settled, in one line for their reader; "" when
// all are.
std::string verdict_caution(const std::vector<ScoredHead>& heads,
                            Language language = Language::english);

}  // namespace headlight
