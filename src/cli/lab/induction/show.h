#pragma once

#include "cli/lab/induction/findings.h"
#include "cli/lab/report.h"

namespace headlight::cli::lab {

// What was found in another start of the same training, or the first.
struct StartFinding {
  std::uint64_t seed = 0;
  Findings findings;
};

// The steps of the investigation as text, tables and pictures, in their order. Steps that rest on
// the task end with it.
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

// Figures for --out, with words in the report's language.
void draw_findings(const Findings& findings, const Subject& subject, Report& report);

// Statements about the first of the starts, and about how many of them agree.
void claim_findings(const std::vector<StartFinding>& starts, Report& report);

// Everything that was measured, for programs.
Json json_of(const Findings& findings);

}  // namespace headlight::cli::lab
