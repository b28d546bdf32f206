#pragma once

#include <cstdint>
#include <string>

namespace headlight {

// Background of the colours. Higher weights are darker on a light one, brighter on a dark one.
enum class Background { light, dark };

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

// Returns the colour of a strength in [0, 1]. All have one hue; perceived lightness is linear in
// the strength (OKLab; Ottosson, "A perceptual color space for image processing", 2020).
Colour attention_colour(double strength, Background ground);

// Returns the colour as "1f2a6b".
std::string hex_digits(Colour colour);

// Returns true if text on the colour should be white, not black.
bool needs_white_text(Colour colour);

}  // namespace headlight
