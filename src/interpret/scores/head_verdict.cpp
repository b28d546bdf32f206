#include "headlight/interpret/scores/head_verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "headlight/interpret/scores/head_scores.h"
#include "interpret/words.h"

namespace headlight {
namespace {

// Ranks: 0 specific patterns, 1 positions that may hide a pattern, 2 overall shape, 3 the rest.
constexpr double kHalf = 0.5;             // of a head's weight
constexpr double kPositionalShare = 0.9;  // Voita et al. 2019, section 5.1
constexpr double kLocal = 0.75;           // of the weight
constexpr double kDiffuse = 0.85;         // of the largest entropy
constexpr int kLastNamedRank = 1;

struct BestScore {
  std::string_view name;
  double value = 0;
};

// Scores that count in a comparison of rules.
enum class Counted { all, above_uniform };

// Whether a head with uniform attention would score as high. False if that is unknown.
bool is_uniform(const ScoreValue& score) { return score.value.mean <= score.even; }

// The largest of a rule's scores that count; 0 when none was measured.
BestScore best_score(const VerdictRule& rule, const ScoredHead& head,
                     Counted counted = Counted::all) {
  BestScore best{rule.scores.front(), 0};
  for (const std::string_view name : rule.scores) {
    const ScoreValue& score = head.score(name);
    const bool counts = counted == Counted::all || !is_uniform(score);
    if (score.measured() && counts && score.value.mean > best.value) {
      best = {name, score.value.mean};
    }
  }
  return best;
}

// Confidence interval of a score that is a share.
Interval range_of(const ScoreValue& score) {
  if (score.has_interval && score.documents >= kEnoughDocuments) {
    return score.value;
  }
  const Interval bound = bounded_mean(score.value.mean, score.count);
  return score.has_interval ? Interval{score.value.mean, std::min(bound.low, score.value.low),
                                       std::max(bound.high, score.value.high)}
                            : bound;
}

// Whether no pattern's interval reaches its threshold. Scores that were not measured do not count,
// except positional ones: any text of two tokens has them.
bool excludes_patterns(const ScoredHead& head) {
  for (const VerdictRule& rule : verdict_rules()) {
    if (rule.rank > kLastNamedRank) {
      continue;
    }
    for (const std::string_view name : rule.scores) {
      const ScoreValue& score = head.score(name);
      // Bidirectional models have no offset_share.
      const bool is_positional =
          score_list()[score_index(name)].group == "positional" && name != "offset_share";
      if ((score.measured() || is_positional) && range_of(score).high >= rule.threshold) {
        return false;
      }
    }
  }
  return true;
}

Verdict verdict_of(const VerdictRule& rule, const BestScore& best, const ScoredHead& head) {
  const ScoreValue& score = head.score(best.name);
  const Interval range = range_of(score);
  const bool significant = range.low >= rule.threshold;
  return {rule.name, best.name, best.value, {}, range, score.count, significant};
}

// The rule of a rank with the highest score at its threshold; null: none.
const VerdictRule* reached_rule(int rank, const ScoredHead& head) {
  const VerdictRule* best = nullptr;
  for (const VerdictRule& rule : verdict_rules()) {
    const double score = rule.rank == rank ? best_score(rule, head).value : 0;
    if (rule.rank == rank && score >= rule.threshold &&
        (best == nullptr || score > best_score(*best, head).value)) {
      best = &rule;
    }
  }
  return best;
}

// The named rule with the highest score that counts; on ties the lower rank.
const VerdictRule& nearest_rule(Counted counted, const ScoredHead& head) {
  const VerdictRule* best = &verdict_rules().front();
  for (const VerdictRule& rule : verdict_rules()) {
    if (rule.rank <= kLastNamedRank &&
        best_score(rule, head, counted).value > best_score(*best, head, counted).value) {
      best = &rule;
    }
  }
  return *best;
}

const VerdictRule& rule_called(std::string_view name) {
  for (const VerdictRule& rule : verdict_rules()) {
    if (rule.name == name) {
      return rule;
    }
  }
  fail("no verdict is called '", name, "'");
}

std::string number_text(double value) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.2f", value);
  return buffer.data();
}

// " (unsure: 0.32 to 1.00 from 3 places)"
std::string doubt_text(const Verdict& verdict, Language language) {
  return say(language, "unsure",
             {{"low", number_text(verdict.range.low)},
              {"high", number_text(verdict.range.high)},
              {"count", static_cast<Index>(verdict.queries)}});
}

}  // namespace

const std::vector<VerdictRule>& verdict_rules() {
  static const std::vector<VerdictRule> kRules{
      {"induction", {"induction"}, kHalf, 0},
      {"duplicate_token", {"duplicate_token"}, kHalf, 0},
      {"delimiter", {"quote", "quote_ahead", "bracket", "bracket_ahead"}, kHalf, 0},
      {"agreement", {"agreement", "agreement_ahead"}, kHalf, 0},
      {"name_mover", {"name", "name_ahead", "names_ahead"}, kHalf, 0},
      {"previous_token", {"previous_token"}, kHalf, 0},
      {"same_token", {"same_token"}, kHalf, 0},
      {"fixed_offset", {"offset_share"}, kPositionalShare, 1},
      {"first_token", {"first_token"}, kHalf, 1},
      {"local", {"near"}, kLocal, 2},
      {"diffuse", {"spread"}, kDiffuse, 2},
      {"mixed", {}, 0, 3}};
  return kRules;
}

Verdict judge_head(const ScoredHead& head) {
  for (int rank = 0; rank < verdict_rules().back().rank; ++rank) {
    if (const VerdictRule* rule = reached_rule(rank, head)) {
      return verdict_of(*rule, best_score(*rule, head), head);
    }
  }
  const VerdictRule& nearest = nearest_rule(Counted::above_uniform, head);
  const BestScore best = best_score(nearest, head, Counted::above_uniform);
  Verdict verdict = verdict_of(nearest, best, head);
  verdict.leans = best.value > 0 ? nearest.name : std::string_view();
  verdict.name = verdict_rules().back().name;
  verdict.significant = excludes_patterns(head);
  return verdict;
}

std::string_view verdict_label(std::string_view name, Language language) {
  return word(language, concat_text("class_", rule_called(name).name));
}

std::string head_sentence(const ScoredHead& head, Language language) {
  const Verdict& verdict = head.verdict;
  const std::string score = number_text(verdict.score);
  std::string text =
      say(language, concat_text("about_", verdict.name),
          {{"head", head_name(head.head)},
           {"score", score},
           {"offset", head.best_offset},
           {"meaning", std::string(score_list()[score_index(verdict.measure)].meaning)}});
  if (!verdict.leans.empty()) {
    text += say(language, "leans",
                {{"name", std::string(verdict_label(verdict.leans, language))}, {"score", score}});
  }
  return verdict.significant ? text : text + doubt_text(verdict, language);
}

std::string even_weights_text(const ScoredHead& head, Language language) {
  const double even = head.score(head.verdict.measure).even;
  return head.verdict.leans.empty() || std::isnan(even)
             ? ""
             : say(language, "even_weights", {{"even", number_text(even)}});
}

std::string verdict_caution(const std::vector<ScoredHead>& heads, Language language) {
  const auto uncertain = std::count_if(
      heads.begin(), heads.end(), [](const ScoredHead& head) { return !head.verdict.significant; });
  return uncertain == 0
             ? ""
             : say(language, "verdict_caution", {{"uncertain", uncertain}, {"all", heads.size()}});
}

}  // namespace headlight
