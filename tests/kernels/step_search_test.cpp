#include "kernels/panels/step_search.h"
#include "support/cpu_variants.h"
#include "support/test.h"

namespace step_search_test {
using kernels::SearchedParts;

// Parts with normal values, weights between 0 and 1, and what could go wrong: zeros, tiny values,
// and a value that is furthest on both sides of zero.
SearchedParts drawn_parts(int size, bool is_weighted) {
  SearchedParts parts{.size = size};
  const std::vector<float> values = gaussians(size * kernels::kSearchedParts, 7);
  const std::vector<float> weights = gaussians(size * kernels::kSearchedParts, 8);
  for (int i = 0; i < size; ++i) {
    for (int p = 0; p < kernels::kSearchedParts; ++p) {
      const auto at = static_cast<std::size_t>(i * kernels::kSearchedParts + p);
      parts.values[i][p] = p == 1 ? 0 : p == 2 ? 1e-16F * values[at] : values[at];
      parts.weights[i][p] = is_weighted ? std::abs(weights[at]) : 1;
    }
  }
  parts.values[3][4] = -9;
  parts.values[5][4] = 9;
  return parts;
}

// Returns the step of one part as the definition says: in the order of the values, without vectors.
float step_of(const SearchedParts& parts, int part, const kernels::SignedTries& tries) {
  float furthest = 0;
  for (int i = 0; i < parts.size; ++i) {
    const float value = parts.values[i][part];
    furthest = std::abs(value) > std::abs(furthest) ? value : furthest;
  }
  double step = 0;
  double gain = 0;
  for (const float number : tries.furthest) {
    const float inverse = -number / furthest;
    double wxn = 0;
    double wnn = 0;
    for (int i = 0; i < parts.size; ++i) {
      const double weight = parts.weights[i][part];
      const double highest = tries.count - 1;
      const double rounded = std::clamp(std::nearbyint(double{inverse * parts.values[i][part]}),
                                        -1 - highest, highest);
      wxn += weight * double{parts.values[i][part]} * rounded;
      wnn += weight * rounded * rounded;
    }
    if (wnn > 0 && wxn * wxn > gain * wnn) {
      step = wxn / wnn;
      gain = step * wxn;
    }
  }
  return std::abs(furthest) < 1e-15F ? 0 : static_cast<float>(step);
}

TEST_CASE("the steps of parts side by side are those of each part, on every CPU variant") {
  for (const int count : {8, 16, 32}) {
    kernels::SignedTries tries{.count = count};
    for (int i = 0; i < kernels::kSignedTries; ++i) {
      tries.furthest[i] = static_cast<float>(count) + 0.1F * static_cast<float>(i - 9);
    }
    for (const int size : {16, 32}) {
      for (const bool is_weighted : {false, true}) {
        const SearchedParts parts = drawn_parts(size, is_weighted);
        with_each_variant([&] {
          float steps[kernels::kSearchedParts] = {};
          kernels::step_search().signed_steps(parts, tries, steps);
          for (int p = 0; p < kernels::kSearchedParts; ++p) {
            INFO("part " << p << " of " << size << " values, numbers below " << count);
            CHECK(steps[p] == step_of(parts, p, tries));
          }
        });
      }
    }
  }
}
}  // namespace step_search_test
