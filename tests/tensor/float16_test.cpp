#include <bit>

#include "support/test.h"
#include "tensor/float16.h"

TEST_CASE("every half comes back from float32") {
  int wrong = 0;
  for (std::uint32_t half = 0; half < 65536; ++half) {
    const float value = half_to_float(static_cast<std::uint16_t>(half));
    const std::uint16_t back = float_to_half(value);
    wrong += std::isnan(value) ? !std::isnan(half_to_float(back)) : back != half;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a float becomes the nearest half with ties to even") {
  int wrong = 0;
  for (std::uint32_t half = 0; half < 0x7BFF; ++half) {
    const float low = half_to_float(static_cast<std::uint16_t>(half));
    const float high = half_to_float(static_cast<std::uint16_t>(half + 1));
    const float middle = (low + high) / 2;  // exact: floats have more bits
    const std::uint32_t even = half + half % 2;
    wrong += float_to_half(middle) != even;
    wrong += float_to_half(std::nextafter(middle, low)) != half;
    wrong += float_to_half(std::nextafter(middle, high)) != half + 1;
    wrong += float_to_half(-middle) != (even | 0x8000U);
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats beyond the largest half become infinite and the smallest become zero") {
  CHECK(float_to_half(65519.996F) == 0x7BFF);
  CHECK(float_to_half(65520.0F) == 0x7C00);
  CHECK(float_to_half(-std::numeric_limits<float>::max()) == 0xFC00);
  CHECK(float_to_half(std::numeric_limits<float>::infinity()) == 0x7C00);
  CHECK(float_to_half(0x1p-25F) == 0);
  CHECK(float_to_half(-0x1p-149F) == 0x8000);
  CHECK(std::isnan(half_to_float(float_to_half(std::bit_cast<float>(0x7F800001U)))));
}
