#include "headlight/interpret/scores/head_verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "headlight/interpret/scores/head_scores.h"

namespace headlight {
namespace {

// Ranks: 0 specific patterns, 1 positions that may hide a pattern, 2 overall shape, 3 the rest.
constexpr double kHalf = 0.5;             // of a head's weight
constexpr double kPositionalShare = 0.9;  // Voita et al. 2019, section 5.1
constexpr double kLocal = 0.75;           // of the weight
constexpr double kDiffuse = 0.85;         // of the largest entropy
constexpr int kLastNamedRank = 1;

VerdictRule verdict_rule(std::string_view name, std::string_view korean_label,
                         std::vector<std::string_view> scores, double threshold, int rank,
                         std::string_view english, std::string_view korean) {
  std::string label(name);
  std::replace(label.begin(), label.end(), '_', ' ');
  return {name, label, korean_label, std::move(scores), threshold, rank, english, korean};
}

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

void replace(std::string_view what, const std::string& by, std::string& text) {
  const std::size_t position = text.find(what);
  if (position != std::string::npos) {
    text.replace(position, what.size(), by);
  }
}

// " (unsure: 0.32 to 1.00 from 3 places)"
std::string doubt_text(const Verdict& verdict, Language language) {
  const std::string low = number_text(verdict.range.low);
  const std::string high = number_text(verdict.range.high);
  const auto count = static_cast<Index>(verdict.queries);
  return language == Language::korean
             ? concat_text(" (불확실: ", count, "곳에서 재어 ", low, "~", high, ")")
             : concat_text(" (unsure: ", low, " to ", high, " from ", count,
                           count == 1 ? " place)" : " places)");
}

std::string offset_text(Index offset, Language language) {
  if (language == Language::korean) {
    return std::to_string(offset);
  }
  return std::to_string(offset) + (offset == 1 ? " token" : " tokens");
}

}  // namespace

const std::vector<VerdictRule>& verdict_rules() {
  static const std::vector<VerdictRule> kRules{
      verdict_rule(
          "induction", "귀납", {"induction"}, kHalf, 0,
          "{head} is an induction head: in repeated random text {score} of its weight is on the "
          "token that followed the same token before",
          "{head}: 귀납 헤드. 무작위 글이 되풀이될 때 같은 토큰의 다음 자리에 가중치의 "
          "{score}만큼을 둡니다"),
      verdict_rule("duplicate_token", "같은 토큰", {"duplicate_token"}, kHalf, 0,
                   "{head} attends to earlier occurrences of the same token: {score} of its weight",
                   "{head}: 앞에 나온 같은 토큰을 봅니다. 가중치의 {score}"),
      verdict_rule("delimiter", "따옴표·괄호", {"quote", "quote_ahead", "bracket", "bracket_ahead"},
                   kHalf, 0, "{head} attends from {meaning}: {score} of its weight there",
                   "{head}: 닫는 따옴표나 괄호의 짝을 찾습니다. 그 자리에서 가중치의 {score}"),
      verdict_rule("agreement", "주어-동사", {"agreement", "agreement_ahead"}, kHalf, 0,
                   "{head} attends from {meaning}: {score} of its weight there",
                   "{head}: 동사에서 그 주어를 봅니다. 그 자리에서 가중치의 {score}"),
      verdict_rule(
          "name_mover", "이름", {"name", "name_ahead", "names_ahead"}, kHalf, 0,
          "{head} attends from {meaning}: {score} of its weight there",
          "{head}: 이름이 나올 자리에서 앞에 나온 이름을 봅니다. 그 자리에서 가중치의 {score}"),
      verdict_rule("previous_token", "바로 앞 토큰", {"previous_token"}, kHalf, 0,
                   "{head} attends to the previous token: {score} of its weight",
                   "{head}: 바로 앞 토큰을 봅니다. 가중치의 {score}"),
      verdict_rule("same_token", "자기 자리", {"same_token"}, kHalf, 0,
                   "{head} attends to the token itself: {score} of its weight",
                   "{head}: 자기 자리를 봅니다. 가중치의 {score}"),
      verdict_rule(
          "fixed_offset", "일정한 거리", {"offset_share"}, kPositionalShare, 1,
          "{head} attends {offset} back: its largest weight is there for {score} of the queries",
          "{head}: {offset}칸 앞을 봅니다. 쿼리의 {score}에서 가장 큰 가중치가 그곳에 있습니다"),
      verdict_rule("first_token", "첫 토큰", {"first_token"}, kHalf, 1,
                   "{head} attends mostly to the first token: {score} of its weight",
                   "{head}: 첫 토큰에 집중합니다. 가중치의 {score}"),
      verdict_rule("local", "가까운 곳", {"near"}, kLocal, 2,
                   "{head} attends to nearby tokens: {score} of its weight on the last 8 tokens",
                   "{head}: 가까운 곳을 둘러봅니다. 마지막 8개 토큰에 가중치의 {score}"),
      verdict_rule(
          "diffuse", "고른 분포", {"spread"}, kDiffuse, 2,
          "{head} attends evenly to all tokens: its entropy is {score} of the largest possible",
          "{head}: 모든 토큰을 고르게 봅니다. 엔트로피가 가능한 최댓값의 {score}"),
      verdict_rule("mixed", "패턴 없음", {}, 0, 3, "{head} matches no pattern",
                   "{head}: 맞는 패턴이 없습니다")};
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
  const VerdictRule& rule = rule_called(name);
  return language == Language::korean ? rule.korean_label : rule.label;
}

std::string head_sentence(const ScoredHead& head, Language language) {
  const Verdict& verdict = head.verdict;
  const VerdictRule& rule = rule_called(verdict.name);
  std::string text(language == Language::korean ? rule.korean : rule.english);
  if (!verdict.leans.empty()) {
    text += language == Language::korean ? ". 가장 가까운 것은 '{name}' ({score})"
                                         : "; the nearest is '{name}' with {score}";
  }
  replace("{head}", head_name(head.head), text);
  replace("{score}", number_text(verdict.score), text);
  replace("{offset}", offset_text(head.best_offset, language), text);
  replace("{meaning}", std::string(score_list()[score_index(verdict.measure)].meaning), text);
  if (!verdict.leans.empty()) {
    replace("{name}", std::string(verdict_label(verdict.leans, language)), text);
  }
  return verdict.significant ? text : text + doubt_text(verdict, language);
}

std::string even_weights_text(const ScoredHead& head, Language language) {
  const double even = head.score(head.verdict.measure).even;
  if (head.verdict.leans.empty() || std::isnan(even)) {
    return "";
  }
  return language == Language::korean ? ", 고른 가중치라면 " + number_text(even)
                                      : ", where uniform attention gives " + number_text(even);
}

std::string verdict_caution(const std::vector<ScoredHead>& heads, Language language) {
  const auto uncertain = std::count_if(
      heads.begin(), heads.end(), [](const ScoredHead& head) { return !head.verdict.significant; });
  if (uncertain == 0) {
    return "";
  }
  return language == Language::korean
             ? concat_text("주의: 이 글은 판정 ", heads.size(), "개 중 ", uncertain,
                           "개를 확정하기에 모자랍니다(? 표시). 글이 더 많으면 바뀔 수 있습니다")
             : concat_text("caution: this text does not settle ", uncertain, " of ", heads.size(),
                           " verdicts (marked ?): they may be chance and change with more text");
}

}  // namespace headlight
