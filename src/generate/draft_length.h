#pragma once

#include <algorithm>

#include "headlight/tensor/shape.h"

namespace headlight {

// Chooses how many tokens to guess, from the success of earlier guesses: twice as many after
// guesses that were all right, fewer after others. After wrong guesses it pauses, each time for
// longer, so that a text that cannot be guessed costs no time.
class DraftLength {
 public:
  // Returns the number of tokens to guess for the next step; 0 during a pause.
  Index next() {
    if (pause_ > 0) {
      --pause_;
      return 0;
    }
    return length_;
  }

  void learn(Index guessed, Index taken) {
    if (taken == 0) {
      length_ = kFirst;
      last_pause_ = std::min(2 * last_pause_ + 1, kLongestPause);
      pause_ = last_pause_;
      return;
    }
    length_ = taken == guessed ? std::clamp(2 * guessed, length_, kMost) : taken + 1;
    last_pause_ = 0;
  }

 private:
  static constexpr Index kFirst = 2;
  static constexpr Index kMost = 15;          // with the token before them, one pass over a panel
  static constexpr Index kLongestPause = 31;  // steps

  Index length_ = kFirst;
  Index pause_ = 0;
  Index last_pause_ = 0;
};

}  // namespace headlight
