#pragma once

#include <string>
#include <vector>

#include "cli/lab/induction/findings.h"
#include "cli/lab/report.h"
#include "headlight/tensor/tensor.h"

// What texts and figures of the investigation share.
namespace headlight::cli::lab {

// "0.49 (0.45 to 0.52)"
std::string with_range(const Interval& interval, const Report& report);
// "+0.49 (+0.45 to +0.52)"
std::string signed_with_range(const Interval& interval, const Report& report);

// "1.0, 1.3"
std::string names_of(const HeadSet& heads);

// An induction head, the one that tells it where to look, or one that looks at the previous token.
bool has_part(const Findings& findings, const HeadFinding& head);

// The heads worth a row: all of a small model; of a large one those that carry most, and the
// induction heads. In the order of HeadId.
std::vector<const HeadFinding*> strongest(const Findings& findings);

// Eight random tokens, twice.
std::vector<std::int32_t> repeated_example(const Subject& subject);
// The attention weights of a head on a text, [T, T].
Tensor map_of(const Subject& subject, const HeadId& head, const std::vector<std::int32_t>& tokens);

}  // namespace headlight::cli::lab
