#pragma once

// Search of the steps that round values to integers with a small squared error.
namespace headlight::kernels {

inline constexpr int kSearchedParts = 8;  // parts that are searched side by side
inline constexpr int kPartValues = 32;    // most values of a part
inline constexpr int kSignedTries = 19;

// Element i of part p is values[i][p]; weights[i][p] >= 0 is the weight of its squared error.
struct SearchedParts {
  alignas(64) float values[kPartValues][kSearchedParts] = {};
  alignas(64) float weights[kPartValues][kSearchedParts] = {};
  int size = kPartValues;  // elements of each part
};

// Steps to try: each makes the value that is furthest from zero -furthest[i].
struct SignedTries {
  int count = 0;  // numbers are from -count to count - 1, with count at most 32
  float furthest[kSignedTries] = {};
};

struct StepSearch {
  // Sets the step of each part, so that its values are about step * number. Takes the step with the
  // least squared error for the numbers of one of the tries, and the first of equal ones; 0 for
  // values below 1e-15. Every CPU variant finds the same bits.
  void (*signed_steps)(const SearchedParts& parts, const SignedTries& tries,
                       float (&steps)[kSearchedParts]);
};

const StepSearch& step_search();

}  // namespace headlight::kernels
