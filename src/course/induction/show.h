#pragma once

#include "course/induction/findings.h"
#include "course/report/report.h"

namespace headlight::cli::lab {

// Findings at one start of the training.
struct StartFinding {
  std::uint64_t seed = 0;
  Findings findings;
};

// Adds the text of the investigation of the first start. Leaves out the steps that need the task if
// the model does not solve it.
void show_findings(const std::vector<StartFinding>& starts, const Subject& subject, Report& report);

// Draws the figures for --out and adds them to the report, with words in the report's language.
void draw_findings(const Findings& findings, const Subject& subject, Report& report);

// Adds claims about the first start, and about the number of starts that agree.
void claim_findings(const std::vector<StartFinding>& starts, const TrainingLength& training,
                    Report& report);

// All measurements as JSON.
Json json_of(const Findings& findings);
Json json_of(const HeadFinding& head);
Json json_of(const LossWithout& without);

}  // namespace headlight::cli::lab
