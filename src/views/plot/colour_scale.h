#pragma once

#include <cstdint>
#include <string>

namespace headlight {

// The ground that colours are seen on: more weight is darker ink on paper, brighter light on black.
enum class Ground { light, dark };

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

// The colour of a strength in [0, 1]: one hue whose perceived lightness is linear in the strength
// (OKLab; Ottosson, "A perceptual color space for image processing", 2020).
Colour attention_colour(double strength, Ground ground);

// "1f2a6b".
std::string hex_digits(Colour colour);

// True when text on the colour should be white rather than black.
bool needs_white_text(Colour colour);

}  // namespace headlight
