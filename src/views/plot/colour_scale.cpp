#include "views/plot/colour_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/hex_text.h"

namespace headlight {
namespace {

using LinearColour = std::array<double, 3>;  // red, green, blue; in gamut if all are in [0, 1]

struct ScaleShape {
  double lightness_of_zero;
  double lightness_of_one;
  double hue;             // degrees in OKLab
  double chroma_of_zero;  // chroma at both ends; chroma_rise adds a half sine between them
  double chroma_of_one;
  double chroma_rise;
};

// Scales from white to dark blue, and from black to light blue.
constexpr ScaleShape kLightShape = {0.972, 0.270, 266.0, 0.008, 0.105, 0.105};
constexpr ScaleShape kDarkShape = {0.235, 0.950, 258.0, 0.014, 0.028, 0.125};

// Smallest WCAG 2 contrast of white text. White is preferred even if black scores higher: on
// saturated blue it reads better than WCAG 2 predicts.
constexpr double kReadableContrast = 3.5;

LinearColour from_oklab(double lightness, double a, double b) {
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool in_gamut(const LinearColour& colour) {
  return std::all_of(colour.begin(), colour.end(), [](double c) { return c >= 0.0 && c <= 1.0; });
}

// Returns the colour of this lightness and hue with the largest chroma up to `chroma` in sRGB.
LinearColour displayable(double lightness, double chroma, double hue) {
  const double angle = hue * std::numbers::pi / 180.0;
  const auto with = [&](double c) {
    return from_oklab(lightness, c * std::cos(angle), c * std::sin(angle));
  };
  if (in_gamut(with(chroma))) {
    return with(chroma);
  }
  double low = 0.0;
  double high = chroma;
  for (int step = 0; step < 24; ++step) {
    const double middle = (low + high) / 2.0;
    (in_gamut(with(middle)) ? low : high) = middle;
  }
  return with(low);
}

std::uint8_t srgb_byte(double linear) {
  const double value =
      linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1.0 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255.0));
}

double linear_value(std::uint8_t byte) {
  const double value = byte / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

}  // namespace

Colour attention_colour(double strength, Background ground) {
  const ScaleShape& shape = ground == Background::light ? kLightShape : kDarkShape;
  const double t = std::clamp(strength, 0.0, 1.0);
  const double lightness = std::lerp(shape.lightness_of_zero, shape.lightness_of_one, t);
  const double chroma = std::lerp(shape.chroma_of_zero, shape.chroma_of_one, t) +
                        shape.chroma_rise * std::sin(std::numbers::pi * t);
  const LinearColour colour = displayable(lightness, chroma, shape.hue);
  return {srgb_byte(colour[0]), srgb_byte(colour[1]), srgb_byte(colour[2])};
}

std::string hex_digits(Colour colour) {
  return hex_text(std::array{colour.red, colour.green, colour.blue});
}

bool needs_white_text(Colour colour) {
  const double luminance = 0.2126 * linear_value(colour.red) + 0.7152 * linear_value(colour.green) +
                           0.0722 * linear_value(colour.blue);
  return 1.05 / (luminance + 0.05) >= kReadableContrast;
}

}  // namespace headlight
