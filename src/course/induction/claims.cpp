#include <algorithm>
#include <cmath>

#include "course/induction/show.h"
#include "show/report/parts/interval_text.h"

namespace headlight::cli::lab {
namespace {

constexpr double kFewEdges = 0.25;  // share of all edges
constexpr double kFaithful = 0.8;

// True if the key interval is above the query and value intervals. Then the source head controls
// the target through the keys.
bool composes_by_keys(const Findings& findings) {
  if (findings.paths.empty()) {
    return false;
  }
  const auto& [query, key, value] = findings.paths.front().into;
  return key.low > std::max({query.high, value.high, 0.0});
}

// True if the loss rises without the induction heads, and more than without any drawn set of other
// heads. The intervals of the rises must not overlap.
bool are_needed(const Repetition& repetition) {
  double others = 0;
  for (const LossWithout& without : repetition.without_others) {
    others = std::max(others, without.rise.high);
  }
  return repetition.without_induction.rise.low > others;
}

// Largest recovered share of a head without a part in the story.
double most_of_others(const Findings& findings) {
  double most = 0;
  for (const HeadFinding& head : findings.heads) {
    most = findings.has_part(head) ? most : std::max(most, std::abs(head.suffices.mean));
  }
  return most;
}

// Claims about a model that solves the task.
void claim_mechanism(const Findings& findings, const TrainingLength& training, Json shown,
                     Report& report) {
  const Interval& share = findings.head(findings.receiver).suffices;
  const double most = most_of_others(findings);
  shown["share"] = interval_json(share);
  shown["most"] = most;
  report.claim("patching_names_the_same_heads", training, share.low > most, shown);
  if (findings.source) {
    const HeadFinding& source = findings.head(*findings.source);
    shown["weight"] = source.scored.score("previous_token").value.mean;
    report.claim("composes_by_keys", training, composes_by_keys(findings), shown);
    report.claim("source_looks_at_the_previous_token", training, source.is("previous_token"),
                 shown);
  }
  const Repetition& repetition = findings.repetition;
  shown["others"] =
      repetition.without_others.empty() ? Json() : Json(repetition.largest_other_rise());
  report.claim("induction_heads_are_needed", training, are_needed(repetition), shown);
  report.claim("few_edges_suffice", training,
               findings.circuit.faithfulness >= kFaithful && findings.kept_share <= kFewEdges,
               shown);
}

void claim_starts(const std::vector<StartFinding>& starts, const TrainingLength& training,
                  Report& report) {
  const auto agree = std::ranges::count_if(starts, [](const StartFinding& start) {
    const Findings& found = start.findings;
    return found.does_task() && found.has_induction && composes_by_keys(found) &&
           are_needed(found.repetition);
  });
  report.claim("every_start_agrees", training, agree == std::ssize(starts),
               {{"agree", agree}, {"count", starts.size()}});
}

}  // namespace

void claim_findings(const std::vector<StartFinding>& starts, const TrainingLength& training,
                    Report& report) {
  const Findings& findings = starts.front().findings;
  const Repetition& repetition = findings.repetition;
  Json shown = json_of(findings);
  shown["induction_names"] = names_of(findings.induction_heads);
  shown["strength"] = findings.head(findings.receiver).scored.score("induction").value.mean;
  report.claim("learns_from_the_repetition", training,
               repetition.second.high < repetition.first.low, shown);
  report.claim("has_induction_head", training, findings.has_induction, shown);
  if (findings.does_task()) {
    claim_mechanism(findings, training, shown, report);
  }
  if (starts.size() > 1) {
    claim_starts(starts, training, report);
  }
}

}  // namespace headlight::cli::lab
