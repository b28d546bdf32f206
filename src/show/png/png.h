#pragma once

#include <string>
#include <string_view>

namespace headlight {

// Renders an SVG figure as PNG with `scale` pixels for each SVG unit, fewer if a side would exceed
// 16384 pixels. Throws Error if librsvg is not installed or a side exceeds
// 16384 pixels at scale 1.
std::string svg_to_png(const std::string& svg, double scale = 2.0);

// Returns one line if no installed font has some character of `text`, with the package that has
// them for Korean, Japanese and Chinese; otherwise "".
std::string missing_font(std::string_view text);

}  // namespace headlight
