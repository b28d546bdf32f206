#pragma once

#include <chrono>

namespace headlight::kernels {

// Hints to the core that this thread polls.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Polls until ready() is true or `limit` has passed. Returns the last result of ready().
template <class Ready>
bool spin_until(std::chrono::nanoseconds limit, const Ready& ready) {
  if (ready()) {
    return true;
  }
  constexpr int kPollsOfLook = 16;  // polls per look at the clock, which is slower than a poll
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int poll = 0; poll < kPollsOfLook; ++poll) {
      if (ready()) {
        return true;
      }
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace headlight::kernels
