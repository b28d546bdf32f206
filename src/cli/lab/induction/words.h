#pragma once

#include <string>
#include <vector>

#include "cli/lab/induction/findings.h"
#include "cli/lab/report.h"
#include "headlight/tensor/tensor.h"

// Texts and examples that several steps of the investigation share.
namespace headlight::cli::lab {

// Mean and interval, as "0.49 (0.45 to 0.52)".
std::string with_range(const Interval& interval, const Report& report);
// Mean and interval with signs, as "+0.49 (+0.45 to +0.52)".
std::string signed_with_range(const Interval& interval, const Report& report);

// Names of heads, as "1.0, 1.3".
std::string names_of(const HeadSet& heads);

// True for an induction head, the source head or a previous-token head.
bool has_part(const Findings& findings, const HeadFinding& head);

// Heads that get a table row, in the order of HeadId. Large models: the induction heads and the
// heads with the largest shares, 16 in all.
std::vector<const HeadFinding*> strongest(const Findings& findings);

// Eight random tokens and their repetition.
std::vector<std::int32_t> repeated_example(const Subject& subject);
// Attention weights of a head on a text, [T, T].
Tensor map_of(const Subject& subject, const HeadId& head, const std::vector<std::int32_t>& tokens);

}  // namespace headlight::cli::lab
