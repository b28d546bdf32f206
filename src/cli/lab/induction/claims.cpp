#include <algorithm>
#include <cmath>

#include "cli/lab/induction/show.h"
#include "cli/lab/induction/words.h"
#include "views/report/numbers.h"

namespace headlight::cli::lab {
namespace {

constexpr double kFewEdges = 0.25;  // share of all edges
constexpr double kFaithful = 0.8;

std::string number(double value) { return fixed_number(value, 2); }

// True if the key interval is above the query and value intervals. Then the source head controls
// the target through the keys.
bool composes_by_keys(const Findings& findings) {
  if (findings.paths.empty()) {
    return false;
  }
  const auto& [query, key, value] = findings.paths.front().into;
  return key.low > std::max({query.high, value.high, 0.0});
}

// True if the loss rises more without the induction heads than without any drawn set of others.
bool are_needed(const Repetition& repetition) {
  double others = 0;
  for (const LossWithout& without : repetition.without_others) {
    others = std::max(others, without.rise.high);
  }
  return repetition.without_induction.rise.low > others;
}

void claim_repetition(const Findings& findings, Report& report) {
  const Repetition& repetition = findings.repetition;
  report.claim(
      {"learns_from_the_repetition",
       repetition.second.high < repetition.first.low,
       {"It learns while it reads: a token costs {0} nats the first time and {1} the second.",
        "읽으면서 배운다. 토큰당 손실이 처음에는 {0} nat, 되풀이될 때는 {1} nat이다."},
       {"It does not learn from the repetition: a token costs {0} nats the first time and {1} the "
        "second.",
        "되풀이에서 배우지 못한다. 토큰당 손실이 처음에는 {0} nat, 되풀이될 때는 {1} nat이다."}},
      {number(repetition.first.mean), number(repetition.second.mean)});
  report.claim({"has_induction_head",
                findings.has_induction,
                {"Induction heads by their weights: {0}; the strongest in patching, {1}, gives {2} "
                 "of its weight to what followed the same token.",
                 "가중치로 본 귀납 헤드: {0}. 그 가운데 패칭에서 가장 강한 {1} 헤드는 같은 토큰 "
                 "다음에 있던 토큰에 가중치의 {2}만큼을 둔다."},
                {"No head is an induction head: {1} comes nearest with {2} of its weight, and 0.5 "
                 "is asked for.",
                 "귀납 헤드가 없다. 가장 가까운 {1} 헤드도 가중치의 {2}만큼을 둘 뿐이며, 기준은 "
                 "0.5이다."}},
               {names_of(findings.induction_heads), head_name(findings.receiver),
                number(findings.head(findings.receiver).scored.score("induction").value.mean)});
}

void claim_patching(const Findings& findings, Report& report) {
  const HeadFinding* other = nullptr;
  for (const HeadFinding& head : findings.heads) {
    if (!has_part(findings, head) &&
        (other == nullptr || std::abs(head.suffices.mean) > std::abs(other->suffices.mean))) {
      other = &head;
    }
  }
  const Interval& receiver = findings.head(findings.receiver).suffices;
  const double most = other == nullptr ? 0 : std::abs(other->suffices.mean);
  report.claim(
      {"patching_names_the_same_heads",
       receiver.low > most,
       {"Patching agrees with the weights: {0} brings back {1} of the difference, no head without "
        "a part in the story more than {2}.",
        "패칭의 결과도 가중치와 맞는다. {0} 헤드는 차이의 {1}만큼을 되살리고, 설명에 나오지 않는 "
        "헤드는 "
        "많아야 {2}이다."},
       {"Patching does not single out the head that the weights name: {0} brings back {1} of the "
        "difference, a head without a part in the story {2}.",
        "패칭으로는 가중치가 가리킨 헤드가 두드러지지 않는다. {0} 헤드는 차이의 {1}만큼을 "
        "되살리는데, "
        "설명에 나오지 않는 헤드에도 {2}만큼을 되살리는 것이 있다."}},
      {head_name(findings.receiver), signed_with_range(receiver, report), number(most)});
}

void claim_paths(const Findings& findings, Report& report) {
  if (findings.paths.empty()) {
    return;
  }
  const auto& [query, key, value] = findings.paths.front().into;
  const HeadFinding& source = findings.head(*findings.source);
  report.claim(
      {"composes_by_keys",
       composes_by_keys(findings),
       {"K-composition: what {0} writes reaches {1} by its keys ({2} of the difference), and not "
        "by its queries ({3}) or values ({4}).",
        "키 합성(K-composition): {0} 헤드가 쓴 것은 {1} 헤드의 키를 거쳐 닿는다(차이의 {2}). "
        "쿼리({3})나 값({4})을 거치지 않는다."},
       {"No clear K-composition: the strongest path into the keys of {1}, from {0}, carries {2} of "
        "the difference, that into its queries {3} and into its values {4}.",
        "키 합성(K-composition)이 뚜렷하지 않다. {1} 헤드의 키로 가는 가장 강한 경로는 {0} "
        "헤드에서 "
        "오며 차이의 {2}만큼을 나른다. 쿼리로는 {3}, 값으로는 {4}이다."}},
      {head_name(*findings.source), head_name(findings.receiver), signed_with_range(key, report),
       signed_number(query.mean, 2), signed_number(value.mean, 2)});
  report.claim(
      {"source_looks_at_the_previous_token",
       source.is("previous_token"),
       {"The head that tells where to look, {0}, is a previous-token head: {1} of its "
        "weight.",
        "볼 곳을 알려 주는 {0} 헤드는 바로 앞 토큰을 보는 헤드이다. 가중치의 {1}만큼을 바로 "
        "앞 토큰에 둔다."},
       {"The head that tells where to look, {0}, is no plain previous-token head: it gives "
        "{1} of its weight to the token before.",
        "볼 곳을 알려 주는 {0} 헤드는 바로 앞 토큰만 보는 헤드가 아니다. 바로 앞 토큰에 두는 것은 "
        "가중치의 {1}이다."}},
      {head_name(*findings.source), number(source.scored.score("previous_token").value.mean)});
}

void claim_need(const Findings& findings, Report& report) {
  const Repetition& repetition = findings.repetition;
  const bool compared = !repetition.without_others.empty();
  report.claim(
      {"induction_heads_are_needed",
       are_needed(repetition),
       {"Without {0} the second copy costs {1} nats more, without as many other heads at most {2}.",
        "{0} 헤드를 끄면 두 번째 사본의 손실이 {1} nat 오르고, 다른 헤드를 같은 수만큼 끄면 많아야 "
        "{2} nat 오른다."},
       {"Without {0} the second copy costs {1} nats more, without as many other heads up to {2}: "
        "these heads are not more needed than others.",
        "{0} 헤드를 끄면 두 번째 사본의 손실이 {1} nat 오르는데, 다른 헤드를 같은 수만큼 꺼도 "
        "많게는 "
        "{2} nat 오른다. 이 헤드들이 남달리 필요하지는 않다."}},
      {names_of(findings.induction_heads),
       signed_with_range(repetition.without_induction.rise, report),
       compared ? signed_number(repetition.largest_other_rise(), 2) : "-"});
  const CircuitResult& circuit = findings.circuit;
  report.claim(
      {"few_edges_suffice",
       circuit.faithfulness >= kFaithful && findings.kept_share <= kFewEdges,
       {"{0} of {1} edges alone keep {2} of the difference.",
        "연결 {1}개 가운데 {0}개만으로 차이의 {2}만큼이 남는다."},
       {"It takes {0} of {1} edges to keep {2} of the difference: the task is spread.",
        "차이의 {2}만큼을 남기는 데 연결 {1}개 가운데 {0}개가 든다. 일이 여러 곳에 퍼져 있다."}},
      {grouped(circuit.kept), grouped(std::ssize(circuit.edges)), number(circuit.faithfulness)});
}

void claim_starts(const std::vector<StartFinding>& starts, Report& report) {
  const auto agree = std::count_if(starts.begin(), starts.end(), [](const StartFinding& start) {
    const Findings& found = start.findings;
    return found.does_task() && found.has_induction && composes_by_keys(found) &&
           are_needed(found.repetition);
  });
  report.claim(
      {"every_start_agrees",
       agree == std::ssize(starts),
       {"All {1} trainings grow the same: induction heads that are needed, told by their "
        "keys where to look.",
        "학습 {1}번 모두 같은 구조에 이른다. 귀납 헤드가 꼭 필요하고, 볼 곳은 키를 거쳐 "
        "전해진다."},
       {"Only {0} of {1} trainings grow induction heads that are needed and told by their "
        "keys where to look.",
        "귀납 헤드가 꼭 필요하고 볼 곳이 키를 거쳐 전해지는 구조에 이른 것은 학습 {1}번 가운데 "
        "{0}번뿐이다."}},
      {std::to_string(agree), std::to_string(starts.size())});
}

}  // namespace

void claim_findings(const std::vector<StartFinding>& starts, Report& report) {
  const Findings& findings = starts.front().findings;
  claim_repetition(findings, report);
  if (findings.does_task()) {
    claim_patching(findings, report);
    claim_paths(findings, report);
    claim_need(findings, report);
  }
  if (starts.size() > 1) {
    claim_starts(starts, report);
  }
}

}  // namespace headlight::cli::lab
