#include "show/plot/colour_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/strings/hex_text.h"

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

// Evenly spaced colours from 0 to 1.
struct ControlPoints {
  ColourMap map;
  bool turns;  // a map of one hue on white, reversed on a dark background
  std::vector<std::uint32_t> colours;
};

// From matplotlib 3.10: viridis, magma, inferno and plasma by van der Walt and Smith and cividis by
// Nunez, Anderton and Renslow (CC0), every 16th colour of 256; the others from ColorBrewer 2.0 by
// Brewer and Harrower (Apache 2.0), 9 classes. Between them, colours differ by at most 11 of 255
// from matplotlib's (cividis), elsewhere 7.
const std::vector<ControlPoints>& control_points() {
  static const std::vector<ControlPoints> kMaps{
      {ColourMap::viridis,
       false,
       {0x440154, 0x48186A, 0x472D7B, 0x424086, 0x3B528B, 0x33638D, 0x2C728E, 0x26828E, 0x21918C,
        0x1FA088, 0x28AE80, 0x3FBC73, 0x5EC962, 0x84D44B, 0xADDC30, 0xD8E219, 0xFDE725}},
      {ColourMap::magma,
       false,
       {0x000004, 0x0A0822, 0x1D1147, 0x36106B, 0x51127C, 0x6A1C81, 0x832681, 0x9C2E7F, 0xB73779,
        0xD0416F, 0xE75263, 0xF56B5C, 0xFC8961, 0xFEA772, 0xFEC488, 0xFDE2A3, 0xFCFDBF}},
      {ColourMap::inferno,
       false,
       {0x000004, 0x0B0724, 0x210C4A, 0x3D0965, 0x57106E, 0x71196E, 0x8A226A, 0xA32C61, 0xBC3754,
        0xD24644, 0xE45A31, 0xF1731D, 0xF98E09, 0xFCAC11, 0xF9CB35, 0xF2EA69, 0xFCFFA4}},
      {ColourMap::plasma,
       false,
       {0x0D0887, 0x310597, 0x4C02A1, 0x6600A7, 0x7E03A8, 0x9511A1, 0xAA2395, 0xBC3587, 0xCC4778,
        0xDA5A6A, 0xE66C5C, 0xF0804E, 0xF89540, 0xFDAC33, 0xFDC527, 0xF8DF25, 0xF0F921}},
      {ColourMap::cividis,
       false,
       {0x00224E, 0x002E6A, 0x1A386F, 0x32436D, 0x434E6C, 0x535A6D, 0x61656F, 0x6F7073, 0x7D7C78,
        0x8C8878, 0x9B9476, 0xABA072, 0xBCAE6C, 0xCDBB63, 0xDEC958, 0xF0D846, 0xFEE838}},
      {ColourMap::blues,
       true,
       {0xF7FBFF, 0xDEEBF7, 0xC6DBEF, 0x9DCAE1, 0x6AAED6, 0x4191C6, 0x2070B4, 0x08509B, 0x08306B}},
      {ColourMap::greens,
       true,
       {0xF7FCF5, 0xE5F5E0, 0xC7E9C0, 0xA0D99B, 0x73C476, 0x40AA5D, 0x228A44, 0x006C2C, 0x00441B}},
      {ColourMap::oranges,
       true,
       {0xFFF5EB, 0xFEE6CE, 0xFDD0A2, 0xFDAE6A, 0xFD8C3B, 0xF16813, 0xD84801, 0xA53603, 0x7F2704}},
      {ColourMap::greys,
       true,
       {0xFFFFFF, 0xF0F0F0, 0xD9D9D9, 0xBDBDBD, 0x959595, 0x727272, 0x515151, 0x242424, 0x000000}}};
  return kMaps;
}

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

Colour interpolated(const std::vector<std::uint32_t>& colours, double t) {
  const double position = t * static_cast<double>(colours.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(position), colours.size() - 2);
  const double share = position - static_cast<double>(first);
  const auto part = [&](int shift) {
    const double before = colours[first] >> shift & 0xFF;
    const double after = colours[first + 1] >> shift & 0xFF;
    return static_cast<std::uint8_t>(std::lround(std::lerp(before, after, share)));
  };
  return {part(16), part(8), part(0)};
}

Colour lightness_colour(double t, Background ground) {
  const ScaleShape& shape = ground == Background::light ? kLightShape : kDarkShape;
  const double lightness = std::lerp(shape.lightness_of_zero, shape.lightness_of_one, t);
  const double chroma = std::lerp(shape.chroma_of_zero, shape.chroma_of_one, t) +
                        shape.chroma_rise * std::sin(std::numbers::pi * t);
  const LinearColour colour = displayable(lightness, chroma, shape.hue);
  return {srgb_byte(colour[0]), srgb_byte(colour[1]), srgb_byte(colour[2])};
}

int square(int value) { return value * value; }

}  // namespace

Colour map_colour(double strength, Background ground, ColourMap map) {
  const double t = std::clamp(strength, 0.0, 1.0);
  for (const ControlPoints& points : control_points()) {
    if (points.map == map) {
      return interpolated(points.colours, points.turns && ground == Background::dark ? 1 - t : t);
    }
  }
  return lightness_colour(t, ground);
}

Colour diverging_colour(double share) {
  constexpr Colour kHigh{0, 90, 181};
  constexpr Colour kLow{220, 96, 5};
  const Colour end = share < 0 ? kLow : kHigh;
  const double strength = std::min(1.0, std::abs(share));
  const auto mixed = [&](std::uint8_t colour) {
    return static_cast<std::uint8_t>(std::lround(255 + strength * (colour - 255)));
  };
  return {mixed(end.red), mixed(end.green), mixed(end.blue)};
}

int terminal_colour(Colour colour) {
  constexpr std::array<int, 6> kSteps{0, 95, 135, 175, 215, 255};
  const auto distance = [&](int red, int green, int blue) {
    return square(red - colour.red) + square(green - colour.green) + square(blue - colour.blue);
  };
  int best = 16;
  int least = distance(0, 0, 0);
  const auto offer = [&](int number, int far) {
    if (far < least) {
      best = number;
      least = far;
    }
  };
  for (int i = 1; i < 216; ++i) {
    offer(16 + i, distance(kSteps[static_cast<std::size_t>(i / 36)],
                           kSteps[static_cast<std::size_t>(i / 6 % 6)],
                           kSteps[static_cast<std::size_t>(i % 6)]));
  }
  for (int i = 0; i < 24; ++i) {
    const int grey = 8 + 10 * i;
    offer(232 + i, distance(grey, grey, grey));
  }
  return best;
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
