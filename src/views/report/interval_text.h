#pragma once

#include <string>

#include "base/json.h"
#include "headlight/heads/bootstrap.h"

namespace headlight {

// Returns "+0.0123 (+0.0101 to +0.0145)", followed by " ?" for too few documents.
std::string change_text(const Interval& change, Index documents);
// Returns the heading of a table of changes: the loss, after a caution for too few documents.
std::string loss_heading(double loss, Index tokens, Index documents);
// Returns {"mean": ..., "low": ..., "high": ...}.
Json interval_json(const Interval& interval);

}  // namespace headlight
