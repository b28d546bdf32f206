#pragma once

#include <string>
#include <string_view>

// What all SVG pictures are made of; lengths are in SVG user units (pixels at 100 %).
namespace headlight {

// "0.50", independent of the locale.
std::string two_decimals(double value);

// A number with at most two decimals, independent of the locale.
std::string svg_number(double value);

// `text` for element content and quoted attributes.
std::string escape_markup(std::string_view text);

// Estimated width of valid UTF-8 in a sans-serif font, in units of the font size.
double text_width(std::string_view text);

// `text` cut with an ellipsis so that text_width() does not exceed `width`.
std::string shorten_text(std::string_view text, double width);

// Opens a white picture that screen readers call `title`; "</svg>" ends it.
std::string svg_start(double width, double height, const std::string& title);

// Any text at a place; `attributes` as in font-size="11".
std::string svg_text(double x, double y, const std::string& attributes, const std::string& content);

// A line between two places; `attributes` as in stroke="#000".
std::string svg_line(double x1, double y1, double x2, double y2, const std::string& attributes);

}  // namespace headlight
