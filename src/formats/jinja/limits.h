#pragma once

#include <cstddef>

#include "headlight/base/error.h"

namespace headlight::jinja {

inline constexpr std::size_t kLargestSource = 1U << 20U;  // bytes of a template
inline constexpr std::size_t kLongestName = 256;          // bytes of a name in a template
inline constexpr std::size_t kDeepestSyntax = 128;        // nested parts of a template
inline constexpr std::size_t kDeepestValue = 100;         // nested lists and dictionaries
inline constexpr std::size_t kDeepestCall = 1000;         // nested evaluations, in all macros
inline constexpr std::size_t kMostSteps = 5'000'000;      // evaluations in a rendering
inline constexpr std::size_t kMostBytes = std::size_t{1} << 28U;  // made or read in a rendering

// Limits the work of one rendering. Throws Error when it is exhausted.
class Budget {
 public:
  // Counts an evaluation, or one element of a list.
  void step() { require(++steps_ <= kMostSteps, "needs more than ", kMostSteps, " steps"); }
  // Counts bytes before they are allocated or read. This also limits memory, since values are small
  // multiples of the bytes that they count.
  void spend(std::size_t bytes) {
    require(bytes <= kMostBytes - bytes_, "needs more than ", kMostBytes, " bytes");
    bytes_ += bytes;
  }
  // Counts `count` elements of `size` bytes.
  void spend(std::size_t count, std::size_t size) {
    require(size == 0 || count <= kMostBytes / size, "needs more than ", kMostBytes, " bytes");
    spend(count * size);
  }

 private:
  friend class Deeper;
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
  std::size_t depth_ = 0;
};

// One level of nested evaluation, for the life of the object.
class Deeper {
 public:
  explicit Deeper(Budget& budget) : budget_(budget) {
    require(budget_.depth_ < kDeepestCall, "is nested deeper than ", kDeepestCall, " levels");
    ++budget_.depth_;
    budget_.step();
  }
  ~Deeper() { --budget_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Budget& budget_;
};

}  // namespace headlight::jinja
