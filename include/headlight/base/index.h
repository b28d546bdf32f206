#pragma once

#include <cstdint>

namespace headlight {

// Type of every size, position and stride. Signed, so that differences are safe.
using Index = std::int64_t;

// Returns value / by, rounded up, for non-negative numbers; cannot overflow.
constexpr Index divided_up(Index value, Index by) { return value / by + (value % by == 0 ? 0 : 1); }

// Rounds up to a multiple of `step`.
constexpr Index rounded_up(Index value, Index step) { return divided_up(value, step) * step; }

}  // namespace headlight
