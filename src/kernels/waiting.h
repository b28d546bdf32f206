#pragma once

#include <chrono>

namespace headlight::kernels {

// Tells the core that this thread polls.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Polls until ready() or until `limit` is over; the last answer of ready().
template <class Ready>
bool spin_until(std::chrono::nanoseconds limit, const Ready& ready) {
  if (ready()) {
    return true;
  }
  constexpr int kPollsOfLook = 16;  // at the clock, which takes longer than to poll
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
