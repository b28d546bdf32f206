#pragma once

#include "kernels/bfloat16/tiles.h"

namespace headlight::kernels {

extern const Bfloat16Tiles kAmxTiles;
extern const Bfloat16Tiles kAvx512Bfloat16Tiles;

}  // namespace headlight::kernels
