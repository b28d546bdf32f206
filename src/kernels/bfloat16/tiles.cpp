#include "kernels/bfloat16/tiles.h"

#include "kernels/cpu_variant.h"

#if defined(HEADLIGHT_BFLOAT16_KERNELS)
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>
#endif

namespace headlight::kernels {

#if defined(HEADLIGHT_BFLOAT16_KERNELS)
namespace {

// Linux grants the large tile registers only to processes that request them.
bool may_use_amx() {
  constexpr unsigned kTileBit = 24;
  constexpr unsigned kBfloat16Bit = 22;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  const unsigned features = cpuid(7, 0).d;
  return (features >> kTileBit & 1) != 0 && (features >> kBfloat16Bit & 1) != 0 &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_avx512_bfloat16() { return (cpuid(7, 1).a >> 5 & 1) != 0; }

std::vector<const Bfloat16Tiles*> available_tiles() {
  std::vector<const Bfloat16Tiles*> tiles;
  if (supports(CpuVariant::v4) && has_avx512_bfloat16()) {
    if (may_use_amx()) {
      tiles.push_back(&kAmxTiles);
    }
    tiles.push_back(&kAvx512Bfloat16Tiles);
  }
  return tiles;
}

}  // namespace

std::span<const Bfloat16Tiles* const> bfloat16_tile_sets() {
  static const std::vector<const Bfloat16Tiles*> available = available_tiles();
  return available;
}

#else

std::span<const Bfloat16Tiles* const> bfloat16_tile_sets() { return {}; }

#endif

const Bfloat16Tiles* bfloat16_tiles() {
  const auto sets = bfloat16_tile_sets();
  return sets.empty() || cpu_variant() != CpuVariant::v4 ? nullptr : sets.front();
}

}  // namespace headlight::kernels
