#include "course/induction/show.h"
#include "show/report/parts/interval_text.h"

namespace headlight::cli::lab {
namespace {

Json repetition_json(const Repetition& repetition) {
  const auto& source = repetition.without_source;
  return {{"first_copy", interval_json(repetition.first)},
          {"second_copy", interval_json(repetition.second)},
          {"without_induction", json_of(repetition.without_induction)},
          {"without_source", source ? json_of(*source) : Json()},
          {"without_others", transformed(repetition.without_others, [](const LossWithout& others) {
             return json_of(others);
           })}};
}

Json circuit_json(const CircuitResult& circuit) {
  Json kept = Json::array();
  for (const CircuitEdge& edge : circuit.edges) {
    if (edge.is_kept) {
      kept.push_back({{"edge", edge_name(edge)}, {"score", edge.score}});
    }
  }
  return {{"edges", circuit.edges.size()},
          {"kept", circuit.kept},
          {"faithfulness", circuit.faithfulness},
          {"circuit", kept},
          {"curve", transformed(circuit.curve, [](const CircuitFit& fit) {
             return Json{{"edges", fit.edges}, {"faithfulness", fit.faithfulness}};
           })}};
}

Json lens_json(const LensFinding& lens) {
  return {{"place", lens.label}, {"probability", lens.probability}, {"rank", lens.rank}};
}

Json path_json(const PathFinding& path) {
  return {{"from", head_name(path.from)},
          {"query", interval_json(path.into[0])},
          {"key", interval_json(path.into[1])},
          {"value", interval_json(path.into[2])}};
}

}  // namespace

Json json_of(const LossWithout& without) {
  return {{"heads", head_names(without.heads)},
          {"loss", interval_json(without.loss)},
          {"rise", interval_json(without.rise)}};
}

Json json_of(const HeadFinding& head) {
  return {{"head", head_name(head.scored.head)},
          {"verdict", head.scored.verdict.name},
          {"settled", head.scored.verdict.significant},
          {"induction", interval_json(head.scored.score("induction").value)},
          {"previous_token", interval_json(head.scored.score("previous_token").value)},
          {"brings_back", interval_json(head.suffices)},
          {"takes_away", interval_json(head.needed)},
          {"by_place", head.by_position}};
}

Json json_of(const Findings& findings) {
  const HeadSet named = findings.has_induction ? findings.induction_heads : HeadSet();
  Json json{
      {"pairs", findings.pairs.size()},
      {"pairs_done", findings.pairs_done},
      {"clean_difference", findings.clean_difference},
      {"corrupt_difference", findings.corrupt_difference},
      {"heads", transformed(findings.heads, [](const HeadFinding& head) { return json_of(head); })},
      {"induction_heads", head_names(named)},
      {"receiver", head_name(findings.receiver)},
      {"source", findings.source ? Json(head_name(*findings.source)) : Json()},
      {"repetition", repetition_json(findings.repetition)},
      {"lens", transformed(findings.lens, lens_json)},
      {"paths", transformed(findings.paths, path_json)}};
  if (findings.does_task()) {
    json["circuit"] = circuit_json(findings.circuit);
  }
  return json;
}

}  // namespace headlight::cli::lab
