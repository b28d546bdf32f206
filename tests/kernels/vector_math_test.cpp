#include <cmath>
#include <limits>
#include <vector>

#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;
using kernels::Loops;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Distance in units of the last place of float at `exact`, denormals included.
double ulps(float actual, double exact) {
  const double magnitude = std::max(std::abs(exact), 0x1p-126);
  return std::abs(static_cast<double>(actual) - exact) /
         std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

float exp_of(const Loops<float>& loops, float x) {
  float y = -1;
  loops.exp(&x, &y, 1);
  return y;
}

}  // namespace

TEST_CASE("exp in float is within two units of the last place over its whole range") {
  with_each_variant([] {
    const Loops<float>& loops = kernels::loops<float>();
    std::vector<float> x;
    for (double value = -104; value < 89; value += 1.0 / 4099) {
      x.push_back(static_cast<float>(value));
    }
    std::vector<float> y(x.size());
    loops.exp(x.data(), y.data(), static_cast<Index>(x.size()));
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      if (exact > static_cast<double>(std::numeric_limits<float>::max())) {
        CHECK(y[i] == std::numeric_limits<float>::infinity());
      } else {
        worst = std::max(worst, ulps(y[i], exact));
      }
    }
    CHECK(worst <= 2);
  });
}

TEST_CASE("exp in float gets zero, infinity, NaN and denormal results right") {
  with_each_variant([] {
    const Loops<float>& loops = kernels::loops<float>();
    CHECK(exp_of(loops, 0) == 1);
    CHECK(exp_of(loops, -0.0F) == 1);
    CHECK(exp_of(loops, -kFloatInfinity) == 0);
    CHECK(exp_of(loops, kFloatInfinity) == kFloatInfinity);
    CHECK(std::isnan(exp_of(loops, std::numeric_limits<float>::quiet_NaN())));
    CHECK(exp_of(loops, -1e30F) == 0);
    CHECK(exp_of(loops, 1e30F) == kFloatInfinity);
    CHECK(exp_of(loops, 89) == kFloatInfinity);
    CHECK(exp_of(loops, -104) == 0);
    const float denormal = exp_of(loops, -95);
    CHECK(denormal > 0);
    CHECK(denormal < std::numeric_limits<float>::min());
    CHECK(ulps(denormal, std::exp(-95.0)) <= 1);
    CHECK(exp_of(loops, std::numeric_limits<float>::denorm_min()) == 1);
  });
}

TEST_CASE("exp in double is the library's own") {
  const std::vector<double> x{-kInfinity, -745.2, -700, -1,        0,   1e-300,
                              1,          700,    710,  kInfinity, kNaN};
  std::vector<double> y(x.size());
  kernels::loops<double>().exp(x.data(), y.data(), static_cast<Index>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK((y[i] == std::exp(x[i]) || (std::isnan(x[i]) && std::isnan(y[i]))));
  }
}
