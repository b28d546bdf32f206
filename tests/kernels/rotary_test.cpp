#include "kernels/layers/rotary.h"
#include "support/cpu_variants.h"
#include "support/test.h"

using kernels::RowRotation;

TEST_CASE("cosine and sine are right to a unit in the last place, for small and large angles") {
  double worst = 0;
  for (int i = -5000; i < 5000; ++i) {
    for (const double scale : {1e-3, 0.37, 41.0, 12345.0, 2.0e5}) {
      const auto angle = static_cast<double>(static_cast<float>(i * scale));
      const kernels::CosineAndSine turn = kernels::cosine_and_sine(angle);
      worst = std::max(
          {worst, std::abs(turn.cosine - std::cos(angle)), std::abs(turn.sine - std::sin(angle))});
    }
  }
  CHECK(worst <= 2.3e-16);
  CHECK(kernels::cosine_and_sine(0).cosine == 1);
  CHECK(kernels::cosine_and_sine(0).sine == 0);
}

TEST_CASE("rotary embeddings rotate a row in both styles and leave the other elements unchanged") {
  const double pi = std::numbers::pi;
  const std::vector<float> frequencies{static_cast<float>(pi / 4), static_cast<float>(pi / 12)};
  with_each_variant([&] {
    const std::vector<double> x{1, 2, 3, 4, 9, 5, 6, 7, 8, 9};  // two heads of width 5
    for (const RotaryStyle style : {RotaryStyle::half, RotaryStyle::interleaved}) {
      std::vector<double> y(x.size());
      kernels::rotate_row(
          x.data(), y.data(), 2, 5,
          RowRotation{.inverse_frequencies = frequencies, .position = 2, .style = style});
      for (std::size_t head = 0; head < 2; ++head) {
        for (std::size_t pair = 0; pair < 2; ++pair) {
          const bool half = style == RotaryStyle::half;
          const std::size_t a = 5 * head + (half ? pair : 2 * pair);
          const std::size_t b = a + (half ? 2 : 1);
          const double angle = pair == 0 ? pi / 2 : pi / 6;
          CHECK(y[a] == Approx(x[a] * std::cos(angle) - x[b] * std::sin(angle)).margin(1e-6));
          CHECK(y[b] == Approx(x[b] * std::cos(angle) + x[a] * std::sin(angle)).margin(1e-6));
        }
        CHECK(y[5 * head + 4] == 9);
      }
    }
  });
}

TEST_CASE("a row of many pairs is rotated in place and back") {
  std::vector<float> frequencies;
  std::vector<float> x;
  for (int i = 0; i < 100; ++i) {
    frequencies.push_back(std::pow(10000.0F, -static_cast<float>(i) / 100));
  }
  for (int i = 0; i < 3 * 203; ++i) {
    x.push_back(std::sin(static_cast<float>(i)));
  }
  with_each_variant([&] {
    for (const RotaryStyle style : {RotaryStyle::half, RotaryStyle::interleaved}) {
      RowRotation rotation{.inverse_frequencies = frequencies, .position = 777, .style = style};
      std::vector<float> apart(x.size());
      std::vector<float> inside = x;
      kernels::rotate_row(x.data(), apart.data(), 3, 203, rotation);
      kernels::rotate_row(inside.data(), inside.data(), 3, 203, rotation);
      CHECK(apart == inside);
      CHECK(apart != x);
      rotation.backward = true;
      kernels::rotate_row(inside.data(), inside.data(), 3, 203, rotation);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(inside[i] - x[i])));
      }
      CHECK(worst < 1e-6);
    }
  });
}
