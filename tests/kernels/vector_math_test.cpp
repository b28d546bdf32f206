#include <bit>

#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/test.h"

namespace vector_math_test {
using kernels::Loops;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr std::uint64_t kFloats = std::uint64_t{1} << 32;

struct Function {
  const char* name;
  void (*Loops<float>::*loop)(const float* x, float* y, Index n);
  double (*reference)(double x);
  std::vector<float> edges;  // points where the function or its implementation changes
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {"exp",
       &Loops<float>::exp,
       [](double x) { return std::exp(x); },
       {88.72284F, 104.0F, -87.33655F, -103.27893F, -103.97208F, -104.0F, 0.34657359F,
        -0.34657359F}},
      {"tanh",
       &Loops<float>::tanh,
       [](double x) { return std::tanh(x); },
       {0.625F, -0.625F, 9.010913F, -9.010913F, 10.0F, -10.0F}},
      {"log",
       &Loops<float>::log,
       [](double x) { return std::log(x); },
       {0.70710678F, 1.0F, 1.41421356F, 2.0F, 0x1p-126F, -0x1p-126F}}};
  return all;
}

// An exact result, and the number of its units in the last place per 1. Denormals have a unit too;
// an infinity counts as 2^128, the first number above all floats.
struct Exact {
  double value;
  double units_per_one;
};

double without_infinity(double x) {
  x = x > 0x1p128 ? 0x1p128 : x;
  return x < -0x1p128 ? -0x1p128 : x;
}

// Returns 2^exponent from the bits of a double: fast enough to be called for every float.
double power_of_two(std::uint64_t exponent) {
  return std::bit_cast<double>((exponent + 1023) << 52);
}

Exact exact_of(double value) {
  value = without_infinity(value);
  const double magnitude = std::isnan(value) ? 1 : std::clamp(std::abs(value), 0x1p-126, 0x1p127);
  const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(magnitude) >> 52) - 1023;
  return {value, power_of_two(23 - exponent)};
}

// Returns the distance in units in the last place; 0 for two NaN, infinite for one.
double ulps(float actual, const Exact& exact) {
  const double distance =
      std::abs(without_infinity(static_cast<double>(actual)) - exact.value) * exact.units_per_one;
  if (!std::isnan(distance)) {
    return distance;
  }
  return std::isnan(actual) && std::isnan(exact.value) ? 0
                                                       : std::numeric_limits<double>::infinity();
}

struct Worst {
  double ulps = 0;
  float x = 0;
};

// Returns the largest error of a function over the floats in x.
Worst worst_of(const Function& function, const std::vector<float>& x,
               const std::vector<Exact>& exact) {
  std::vector<float> y(x.size());
  (kernels::loops<float>().*function.loop)(x.data(), y.data(), static_cast<Index>(x.size()));
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], exact[i]);
    worst = error > worst.ulps ? Worst{error, x[i]} : worst;
  }
  return worst;
}

std::vector<Exact> references(const Function& function, const std::vector<float>& x) {
  std::vector<Exact> exact;
  exact.reserve(x.size());
  for (const float value : x) {
    exact.push_back(exact_of(function.reference(static_cast<double>(value))));
  }
  return exact;
}

float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

// Returns every `stride`th float, and all floats near zero, infinity, NaN and the function's edges.
std::vector<float> sample(const Function& function, std::uint64_t stride) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < kFloats; bits += stride) {
    x.push_back(float_of(bits));
  }
  std::vector<float> centres = function.edges;
  centres.insert(centres.end(), {0.0F, -0.0F, kInfinity, -kInfinity, 0x1p-126F, -0x1p-126F});
  constexpr std::uint64_t kReach = 1000;
  for (const float centre : centres) {
    const std::uint64_t middle = kFloats + std::bit_cast<std::uint32_t>(centre);
    for (std::uint64_t bits = middle - kReach; bits <= middle + kReach; ++bits) {
      x.push_back(float_of(bits % kFloats));
    }
  }
  return x;
}

float value_of(void (*Loops<float>::*loop)(const float*, float*, Index), float x) {
  float y = -7;
  (kernels::loops<float>().*loop)(&x, &y, 1);
  return y;
}

TEST_CASE("exp, tanh and log in float are within two units of the last place", "[long]") {
  for (const Function& function : functions()) {
    const std::vector<float> x = sample(function, 997);
    const std::vector<Exact> exact = references(function, x);
    with_each_variant([&] {
      const Worst worst = worst_of(function, x, exact);
      INFO(function.name << " at " << worst.x);
      CHECK(worst.ulps <= 2);
      CHECK(worst.ulps > 0.49);  // a sample without rounding would test nothing
    });
  }
}

// Takes minutes: run it by hand after a change of vector_math.h.
TEST_CASE("exp, tanh and log in float are within two units over every float",
          "[.][exhaustive][long]") {
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 16;
  for (const Function& function : functions()) {
    std::vector<Worst> worst(kernels::kCpuVariants.size());
    for (std::uint64_t start = 0; start < kFloats; start += kBlock) {
      std::vector<float> x(kBlock);
      for (std::uint64_t i = 0; i < kBlock; ++i) {
        x[i] = float_of(start + i);
      }
      const std::vector<Exact> exact = references(function, x);
      with_each_variant([&] {
        Worst& most = worst[static_cast<std::size_t>(kernels::cpu_variant())];
        const Worst here = worst_of(function, x, exact);
        most = here.ulps > most.ulps ? here : most;
      });
    }
    with_each_variant([&] {
      const Worst& most = worst[static_cast<std::size_t>(kernels::cpu_variant())];
      WARN(function.name << " in " << cpu_variant_name() << ": at most " << most.ulps
                         << " units, at " << most.x);
      CHECK(most.ulps <= 2);
    });
  }
}

// Zeros, their signs, infinities, NaN, tiny and huge numbers have the bits of the exact result.
TEST_CASE("exp, tanh and log in float are exact where numbers end") {
  const std::vector<float> points[] = {
      {0, -0.0F, kSmallest, -kInfinity, kInfinity, kNaN, -kNaN, -kLargest, kLargest, 89, -104,
       -103.9F},
      {0, -0.0F, kSmallest, -kSmallest, 0x1p-126F, -0x1p-126F, 1e-20F, -1e-20F, 10, -10, kLargest,
       -kLargest, kInfinity, -kInfinity, kNaN},
      {0, -0.0F, 1, kInfinity, kNaN, -kNaN, -kSmallest, -1, -kInfinity}};
  with_each_variant([&] {
    for (std::size_t i = 0; i < functions().size(); ++i) {
      for (const float x : points[i]) {
        INFO(functions()[i].name << " of " << x);
        const float y = value_of(functions()[i].loop, x);
        const auto exact = static_cast<float>(functions()[i].reference(static_cast<double>(x)));
        CHECK((std::isnan(exact) ? std::isnan(y) : y == exact));
        CHECK((std::isnan(exact) || std::signbit(y) == std::signbit(exact)));
      }
    }
    CHECK(value_of(&Loops<float>::exp, -95) > 0);  // denormal
    CHECK(ulps(value_of(&Loops<float>::exp, -95), exact_of(std::exp(-95.0))) <= 1);
    CHECK(ulps(value_of(&Loops<float>::log, kSmallest), exact_of(-149 * std::log(2.0))) <= 1);
  });
}

TEST_CASE("exp, tanh and log in double are the library's own and work in place") {
  const Loops<double>& loops = kernels::loops<double>();
  const std::vector<double> x{
      -745.2, -1, 0, 1e-300, 1, 700, std::numeric_limits<double>::infinity()};
  std::vector<double> y[3] = {x, x, x};
  const auto n = static_cast<Index>(x.size());
  loops.exp(y[0].data(), y[0].data(), n);
  loops.tanh(y[1].data(), y[1].data(), n);
  loops.log(y[2].data(), y[2].data(), n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(y[0][i] == std::exp(x[i]));
    CHECK(y[1][i] == std::tanh(x[i]));
    CHECK((y[2][i] == std::log(x[i]) || (x[i] < 0 && std::isnan(y[2][i]))));
  }
}
}  // namespace vector_math_test
