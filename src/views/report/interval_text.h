#pragma once

#include <string>

#include "base/json.h"
#include "headlight/heads/bootstrap.h"

namespace headlight {

// "+0.0123 (+0.0101 to +0.0145)"; of too few documents with " ?" behind it.
std::string change_text(const Interval& change, Index documents);
// What stands above a table of changes: a caution about too few documents, and the loss.
std::string loss_heading(double loss, Index tokens, Index documents);
// {"mean": ..., "low": ..., "high": ...}
Json interval_json(const Interval& interval);

}  // namespace headlight
