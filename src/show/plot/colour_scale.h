#pragma once

#include <cstdint>
#include <string>

#include "headlight/show/plot/colour_map.h"

namespace headlight {

// Background of the colours. Higher weights are darker on a light one, brighter on a dark one.
enum class Background { light, dark };

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

// Returns the colour of a strength in [0, 1]. ColourMap::headlight has one hue, and perceived
// lightness linear in the strength (OKLab; Ottosson, "A perceptual color space for image
// processing", 2020). The others interpolate between colours of matplotlib's maps of these names.
Colour map_colour(double strength, Background ground, ColourMap map = ColourMap::headlight);

// Returns the colour of a share in [-1, 1]: blue above 0, orange below, white at 0.
Colour diverging_colour(double share);

// Returns the number of the nearest colour of a 256-colour terminal, from its cube (16 to 231) and
// its greys (232 to 255).
int terminal_colour(Colour colour);

// Returns the colour as "1f2a6b".
std::string hex_digits(Colour colour);

// Returns true if text on the colour should be white, not black.
bool needs_white_text(Colour colour);

}  // namespace headlight
