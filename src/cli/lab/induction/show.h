#pragma once

#include "cli/lab/induction/findings.h"
#include "cli/lab/report.h"

namespace headlight::cli::lab {

// Findings at one start of the training.
struct StartFinding {
  std::uint64_t seed = 0;
  Findings findings;
};

// Print the steps of the investigation as text, tables and pictures. Callers skip the steps after
// show_heads() if the model does not solve the task.
void show_question(const Subject& subject, Report& report);
void show_task(const Findings& findings, const Subject& subject, Report& report);
void show_heads(const Findings& findings, const Subject& subject, Report& report);
void show_layers(const Findings& findings, Report& report);
void show_patching(const Findings& findings, Report& report);
void show_paths(const Findings& findings, Report& report);
void show_switching_off(const Findings& findings, Report& report);
void show_circuit(const Findings& findings, Report& report);
void show_starts(const std::vector<StartFinding>& starts, Report& report);
void show_open_ends(const Findings& findings, Report& report);

// Draws the figures for --out, with words in the report's language.
void draw_findings(const Findings& findings, const Subject& subject, Report& report);

// Adds claims about the first start, and about the number of starts that agree.
void claim_findings(const std::vector<StartFinding>& starts, Report& report);

// All measurements as JSON.
Json json_of(const Findings& findings);

}  // namespace headlight::cli::lab
