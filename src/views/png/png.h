#pragma once

#include <string>
#include <string_view>

namespace headlight {

// Draws an SVG picture as PNG with `scale` pixels for each of its own. Throws Error when the
// program was built without librsvg or the picture would be larger than 16384 pixels on a side even
// at scale 1.
std::string svg_to_png(const std::string& svg, double scale = 2.0);

// Warning that svg_to_png() draws Hangul in this text as boxes, for lack of a font; "" for none.
std::string missing_font(std::string_view text);

}  // namespace headlight
