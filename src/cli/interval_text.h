#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "headlight/heads/bootstrap.h"

namespace headlight::cli {

// "+0.0123 (+0.0101 to +0.0145)"
std::string change_text(const Interval& change);
// {"mean": ..., "low": ..., "high": ...}
nlohmann::ordered_json interval_json(const Interval& interval);

}  // namespace headlight::cli
