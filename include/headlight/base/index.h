#pragma once

#include <cstdint>

namespace headlight {

// Every size, position and stride. Signed, so that differences are safe.
using Index = std::int64_t;

// Of numbers that are not negative, rounded up; no sum overflows.
constexpr Index divided_up(Index value, Index by) { return value / by + (value % by == 0 ? 0 : 1); }

// To a multiple of `step`.
constexpr Index rounded_up(Index value, Index step) { return divided_up(value, step) * step; }

}  // namespace headlight
