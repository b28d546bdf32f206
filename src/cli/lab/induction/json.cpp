#include "base/json.h"

#include "cli/lab/induction/show.h"
#include "cli/lab/induction/words.h"

namespace headlight::cli::lab {
namespace {

Json json_of(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

Json json_of(const LossWithout& without) {
  return {{"heads", head_names(without.heads)},
          {"loss", json_of(without.loss)},
          {"rise", json_of(without.rise)}};
}

Json json_of(const HeadFinding& head) {
  return {{"head", head_name(head.scored.head)},
          {"verdict", head.scored.verdict.name},
          {"settled", head.scored.verdict.settled},
          {"induction", json_of(head.scored.score("induction").value)},
          {"previous_token", json_of(head.scored.score("previous_token").value)},
          {"brings_back", json_of(head.suffices)},
          {"takes_away", json_of(head.needed)},
          {"by_place", head.by_place}};
}

Json json_of(const Repetition& repetition) {
  Json json{
      {"first_copy", json_of(repetition.first)},
      {"second_copy", json_of(repetition.second)},
      {"without_induction", json_of(repetition.without_induction)},
      {"without_source", repetition.without_source ? json_of(*repetition.without_source) : Json()},
      {"without_others", Json::array()}};
  for (const LossWithout& others : repetition.without_others) {
    json["without_others"].push_back(json_of(others));
  }
  return json;
}

Json json_of(const CircuitResult& circuit) {
  Json json{{"edges", circuit.edges.size()},
            {"kept", circuit.kept},
            {"faithfulness", circuit.faithfulness},
            {"circuit", Json::array()},
            {"curve", Json::array()}};
  for (const CircuitEdge& edge : circuit.edges) {
    if (edge.is_kept) {
      json["circuit"].push_back({{"edge", edge_name(edge)}, {"score", edge.score}});
    }
  }
  for (const CircuitFit& fit : circuit.curve) {
    json["curve"].push_back({{"edges", fit.edges}, {"faithfulness", fit.faithfulness}});
  }
  return json;
}

}  // namespace

Json json_of(const Findings& findings) {
  Json json{{"pairs", findings.pairs.size()},
            {"pairs_done", findings.pairs_done},
            {"clean_difference", findings.clean_difference},
            {"corrupt_difference", findings.corrupt_difference},
            {"heads", Json::array()},
            {"induction_heads",
             head_names(findings.has_induction ? findings.induction_heads : HeadSet())},
            {"receiver", head_name(findings.receiver)},
            {"source", findings.source ? Json(head_name(*findings.source)) : Json()},
            {"repetition", json_of(findings.repetition)},
            {"lens", Json::array()},
            {"paths", Json::array()}};
  for (const HeadFinding& head : findings.heads) {
    json["heads"].push_back(json_of(head));
  }
  for (const LensFinding& lens : findings.lens) {
    json["lens"].push_back(
        {{"place", lens.place}, {"probability", lens.probability}, {"rank", lens.rank}});
  }
  for (const PathFinding& path : findings.paths) {
    json["paths"].push_back({{"from", head_name(path.from)},
                             {"query", json_of(path.into[0])},
                             {"key", json_of(path.into[1])},
                             {"value", json_of(path.into[2])}});
  }
  if (findings.does_task()) {
    json["circuit"] = json_of(findings.circuit);
  }
  return json;
}

}  // namespace headlight::cli::lab
