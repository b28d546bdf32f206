#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/tensor/shape.h"

namespace headlight {

struct ScoredHead;

// Rule that names a head if one of its scores reaches a threshold. Lower ranks are tried first;
// within a rank the highest score wins.
struct VerdictRule {
  std::string_view name;                 // "previous_token"
  std::vector<std::string_view> scores;  // the largest one counts
  double threshold = 0;
  int rank = 0;
};

// All rules, sorted by rank. The last one, "mixed", has no condition.
const std::vector<VerdictRule>& verdict_rules();

struct Verdict {
  std::string_view name;     // "previous_token"
  std::string_view measure;  // name of the deciding score
  // Its value; for "mixed": the best score of ranks 0 and 1 that exceeds that of uniform attention.
  double score = 0;
  std::string_view leans;  // for "mixed": name of the rule with that score; "": there is none
  // 95 % interval of `score` for more of the same text: the bootstrap's with at least
  // kEnoughDocuments documents, else at least Hoeffding's, bounded_mean().
  Interval range = {};
  double queries = 0;  // queries in the mean
  // Whether the whole range is on the same side of the threshold as the score. For "mixed": no
  // measured score of ranks 0 and 1 has a range that reaches its threshold. Unsettled verdicts may
  // be chance, for lack of text.
  bool significant = false;
};

enum class Language { english, korean };

template <>
inline constexpr auto kChoices<Language> =
    std::to_array<Choice<Language>>({{"en", Language::english}, {"ko", Language::korean}});

Verdict judge_head(const ScoredHead& head);
// "previous token" or "바로 앞 토큰" for "previous_token". Throws Error for unknown names.
std::string_view verdict_label(std::string_view name, Language language = Language::english);
// One sentence without a full stop; for uncertain verdicts with the range and number of queries.
std::string head_sentence(const ScoredHead& head, Language language = Language::english);

// ", where even weights give 0.07": suffix to the sentence of a "mixed" head, for comparison with
// its nearest score. "" for other heads and if the value is unknown (ScoreValue::even).
std::string even_weights_text(const ScoredHead& head, Language language = Language::english);

// One-line warning with the number of uncertain verdicts; "" if all are significant.
std::string verdict_caution(const std::vector<ScoredHead>& heads,
                            Language language = Language::english);

}  // namespace headlight
