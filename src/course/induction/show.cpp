#include <algorithm>
#include <cmath>
#include <functional>

#include "base/strings/split.h"
#include "course/induction/show.h"
#include "course/report/pictures.h"
#include "headlight/interpret/scores/head_verdict.h"
#include "show/plot/chart.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli::lab {
namespace {

constexpr std::size_t kRows = 16;  // of a table of heads
constexpr std::size_t kEdgesShown = 8;
constexpr double kNoticeable = 0.05;

// Heads that get a table row, in the order of HeadId. Large models: the induction heads and the
// heads with the largest shares, kRows in all.
std::vector<const HeadFinding*> strongest(const Findings& findings) {
  std::vector<const HeadFinding*> heads =
      transformed(findings.heads, [](const HeadFinding& head) { return &head; });
  const auto weight = [&](const HeadFinding* head) {
    const bool is_named = findings.induction_heads.contains(head->scored.head);
    return std::abs(head->suffices.mean) + (is_named ? 1e6 : 0);
  };
  std::ranges::stable_sort(heads, std::ranges::greater(), weight);
  heads.resize(std::min(heads.size(), kRows));
  std::ranges::sort(heads, {}, [](const HeadFinding* head) { return head->scored.head; });
  return heads;
}

Json head_rows(const Findings& findings, Language language) {
  return transformed(strongest(findings), [&](const HeadFinding* head) {
    Json row = json_of(*head);
    row["label"] = verdict_label(head->scored.verdict.name, language);
    return row;
  });
}

void show_question(const Subject& subject, Report& report) {
  const GptConfig& config = subject.model->config();
  Json shown{
      {"layer_count", config.n_layer}, {"head_count", config.heads(0)}, {"width", config.n_embd}};
  report.section("question");
  if (subject.updates.empty()) {
    report.section("given", shown);
    return;
  }
  const Index vocabulary = subject.model->vocab_size();
  shown.update({{"last_update", subject.updates.back()},
                {"vocabulary", vocabulary},
                {"guessing", std::log(static_cast<double>(vocabulary))},
                {"curve", line_chart(subject.second_copy, {.width = 60, .height = 6, .low = 0})}});
  report.section("trained", shown);
}

// Both texts of a pair, each with the token that should follow.
std::string pair_text(const PatchingTask& task, const Subject& subject, const Report& report) {
  const std::string clean = report.entry("words", "clean");
  const std::string corrupt = report.entry("words", "corrupt");
  const Index width = widest({clean, corrupt});
  const auto line = [&](const std::string& name, const std::vector<std::int32_t>& text,
                        std::int32_t next) {
    return "  " + pad_right(name, width) + "  " +
           joined(shown_tokens(text, *subject.tokenizer), " ") + "  →  " +
           shown_token(next, *subject.tokenizer) + "\n";
  };
  return line(clean, task.clean, task.answer.front()) +
         line(corrupt, task.corrupt, task.wrong.front());
}

// Attention maps of the source head and the receiver on repeated tokens.
std::string maps_of(const Findings& findings, const Subject& subject) {
  const auto map = [&](const HeadId& head) {
    const auto [tokens, weights] = map_of(subject, head);
    return std::pair(head_name(head), shades(weights, tokens));
  };
  return side_by_side({map(*findings.source), map(findings.receiver)});
}

void show_layers(const Findings& findings, Json story, Report& report) {
  std::size_t largest = 1;
  const auto step = [&](std::size_t row) {
    return findings.lens[row].probability - findings.lens[row - 1].probability;
  };
  for (std::size_t row = 2; row < findings.lens.size(); ++row) {
    largest = step(row) > step(largest) ? row : largest;
  }
  story["layer"] = largest - 1;
  story["before"] = findings.lens[largest - 1].probability;
  story["after"] = findings.lens[largest].probability;
  report.section("layers", story);
}

Json row_of(const LossWithout& without) {
  Json row = json_of(without);
  row["names"] = names_of(without.heads);
  return row;
}

void show_switching_off(const Repetition& repetition, Report& report) {
  const auto& source = repetition.without_source;
  report.section("switching_off",
                 {{"second_copy", interval_json(repetition.second)},
                  {"induction", row_of(repetition.without_induction)},
                  {"source_head", source ? Json::array({row_of(*source)}) : Json::array()},
                  {"others", transformed(repetition.without_others, row_of)}});
}

void show_circuit(Json story, Report& report) {
  Json::List edges = story["circuit"]["circuit"].list();
  edges.resize(std::min(edges.size(), kEdgesShown));
  story["strongest"] = edges;
  story["curve"] = story["circuit"]["curve"];
  report.section("circuit", story);
}

void show_starts(const std::vector<StartFinding>& starts, Report& report) {
  const auto row = [&](const StartFinding& start) {
    const Findings& found = start.findings;
    const Repetition& repetition = found.repetition;
    Json json = json_of(found);
    json["seed"] = start.seed;
    json["found"] =
        found.has_induction ? names_of(found.induction_heads) : report.entry("words", "none");
    json["key"] = found.source ? Json(found.paths.front().into[1].mean) : Json();
    json["rise"] = found.does_task() ? Json(repetition.without_induction.rise.mean) : Json();
    json["others"] =
        repetition.without_others.empty() ? Json() : Json(repetition.largest_other_rise());
    return json;
  };
  report.section("starts", {{"rows", transformed(starts, row)}});
}

void show_open_ends(const Findings& findings, Json story, Report& report) {
  std::vector<HeadId> others;
  for (const HeadFinding& head : findings.heads) {
    const double most = std::max(std::abs(head.suffices.mean), std::abs(head.needed.mean));
    if (!findings.has_part(head) && most > kNoticeable) {
      others.push_back(head.scored.head);
    }
  }
  const std::string open = names_of(others);
  story["unexplained"] = 1 - findings.circuit.faithfulness;
  story["open"] = open;
  report.section("open");
  report.section(findings.source ? "open_path" : "open_no_path", story);
  report.section(open.empty() ? "open_no_heads" : "open_heads", story);
  report.section("open_texts");
}

}  // namespace

void show_findings(const std::vector<StartFinding>& starts, const Subject& subject,
                   Report& report) {
  const Findings& findings = starts.front().findings;
  Json story = json_of(findings);
  story.update({{"sequences", findings.sequences},
                {"pair", pair_text(findings.pairs.front().task, subject, report)},
                {"rows", head_rows(findings, report.language())}});
  show_question(subject, report);
  report.section("task", story);
  if (!findings.does_task()) {
    report.section("no_task");
  }
  report.section("heads", story);
  if (!findings.has_induction) {
    report.section("no_induction", story);
  }
  if (findings.source) {
    story["maps"] = maps_of(findings, subject);
    report.section("maps", story);
  }
  if (findings.does_task()) {
    show_layers(findings, story, report);
    report.section("patching", story);
    report.section(findings.paths.empty() ? "no_paths" : "paths", story);
    show_switching_off(findings.repetition, report);
    show_circuit(story, report);
  }
  if (starts.size() > 1) {
    show_starts(starts, report);
  }
  if (findings.does_task()) {
    show_open_ends(findings, story, report);
  }
}

}  // namespace headlight::cli::lab
