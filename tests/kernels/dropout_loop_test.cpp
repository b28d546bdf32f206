#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/test.h"

using kernels::Loops;

TEST_CASE("dropout keeps the elements whose uniform number reaches the probability") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    const RandomStream random{21, 22};
    for (const Index n : {Index{0}, Index{1}, Index{5}, Index{64}, Index{1003}}) {
      const std::vector<T> x(static_cast<std::size_t>(n), T{3});
      std::vector<T> y(x.size());
      const std::uint64_t position = (std::uint64_t{1} << 40) + 8;
      loops.dropout(x.data(), y.data(),
                    {.seed = 21, .stream = 22, .position = position, .probability = 0.3F}, n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool kept = random.uniform(position + i) >= static_cast<double>(0.3F);
        const double expected = kept ? 3 / (1 - static_cast<double>(0.3F)) : 0;
        CHECK(static_cast<double>(y[i]) == Approx(expected).epsilon(tolerance));
      }
    }
  });
}

TEST_CASE("an element whose uniform number equals the probability is kept") {
  const float probability = static_cast<float>(RandomStream{1, 2}.uniform(0));
  const float x = 1;
  float y = 0;
  kernels::loops<float>().dropout(&x, &y, {.seed = 1, .stream = 2, .probability = probability}, 1);
  CHECK(y > 0);
}
