#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// Colours of the numbers from 0 to 1. Sequential maps of one hue (headlight and blues to greys)
// turn round on a dark background, so that the strongest contrast always means 1.
enum class ColourMap {
  headlight,  // blue, with perceived lightness linear in the number
  viridis,
  magma,
  inferno,
  plasma,
  cividis,
  blues,
  greens,
  oranges,
  greys,
};

template <>
inline constexpr auto kChoices<ColourMap> =
    std::to_array<Choice<ColourMap>>({{"headlight", ColourMap::headlight},
                                      {"viridis", ColourMap::viridis},
                                      {"magma", ColourMap::magma},
                                      {"inferno", ColourMap::inferno},
                                      {"plasma", ColourMap::plasma},
                                      {"cividis", ColourMap::cividis},
                                      {"blues", ColourMap::blues},
                                      {"greens", ColourMap::greens},
                                      {"oranges", ColourMap::oranges},
                                      {"greys", ColourMap::greys}});

}  // namespace headlight
