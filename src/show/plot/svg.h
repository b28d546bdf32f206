#pragma once

#include <string>
#include <string_view>

// Elements of SVG figures. Lengths are in SVG user units (pixels at 100 %).
namespace headlight {

// Returns a number with at most two decimals, independent of the locale.
std::string svg_number(double value);

// Escapes `text` for element content and quoted attributes.
std::string escape_markup(std::string_view text);

// Returns the estimated width of valid UTF-8 in a sans-serif font, in units of the font size.
double text_width(std::string_view text);

// Estimated width of bold text in units of text_width().
inline constexpr double kBoldWidth = 1.16;

inline double bold_width(std::string_view text) { return kBoldWidth * text_width(text); }

// Cuts `text` with an ellipsis so that text_width() does not exceed `width`.
std::string shorten_text(std::string_view text, double width);

// A variant for bold text.
inline std::string shorten_bold(std::string_view text, double width) {
  return shorten_text(text, width / kBoldWidth);
}

// Returns the start of a white figure; "</svg>" ends it. Screen readers read `title`.
std::string svg_start(double width, double height, const std::string& title);

// Returns a text element; `attributes` as in font-size="11".
std::string svg_text(double x, double y, const std::string& attributes, const std::string& content);

// Returns a line element; `attributes` as in stroke="#000".
std::string svg_line(double x1, double y1, double x2, double y2, const std::string& attributes);

}  // namespace headlight
