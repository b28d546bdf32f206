#pragma once

#include <string>

// What all SVG pictures are made of; lengths are in SVG user units (pixels at 100 %).
namespace headlight {

// "0.50", independent of the locale.
std::string two_decimals(double value);

// A number with at most two decimals, independent of the locale.
std::string svg_number(double value);

// Opens a white picture that screen readers call `title`; "</svg>" ends it.
std::string svg_start(double width, double height, const std::string& title);

// Any text at a place; `attributes` as in font-size="11".
std::string svg_text(double x, double y, const std::string& attributes, const std::string& content);

}  // namespace headlight
