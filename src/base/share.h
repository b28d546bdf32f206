#pragma once

#include "headlight/base/index.h"

namespace headlight {

// Returns the finished share of work, for progress bars; 1 if there is none.
inline double share_of(Index done, Index all) {
  return all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all);
}

}  // namespace headlight
