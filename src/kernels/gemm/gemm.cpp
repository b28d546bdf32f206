#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <type_traits>

#include "kernels/gemm/gemm_parts.h"
#include "kernels/gemm/openblas.h"
#include "kernels/phase_times.h"
#include "kernels/threads/openmp.h"
#include "kernels/threads/parallel.h"

namespace headlight::kernels {
namespace {

// Minimum multiply-adds of a tile that is worth its own chunk.
constexpr Index kMinimumTileWork = Index{1} << 23;
constexpr Index kMaximumTileSide = 768;
constexpr Index kTileAlignment = 48;  // a multiple of the register tiles of BLAS kernels
constexpr Index kWantedTiles = 8;

struct TileGrid {
  Index rows;     // rows per tile
  Index columns;  // columns per tile
};

// Halves the longer side of the tiles until there are kWantedTiles of them, or until they are too
// small to keep BLAS busy. Depends on the shape alone.
TileGrid choose_tiles(Index m, Index n, Index k) {
  TileGrid tile{std::min(m, kMaximumTileSide), std::min(n, kMaximumTileSide)};
  const auto tiles = [&] { return chunk_count(m, tile.rows) * chunk_count(n, tile.columns); };
  while (tiles() < kWantedTiles && tile.rows * tile.columns * k >= 2 * kMinimumTileWork) {
    Index& side = tile.rows >= tile.columns ? tile.rows : tile.columns;
    const Index half = rounded_up((side + 1) / 2, kTileAlignment);
    if (half >= side) {
      break;
    }
    side = half;
  }
  return tile;
}

template <class T>
void fill_rows_with_bias(const Gemm<T>& g) {
  for (Index row = 0; row < g.m; ++row) {
    std::copy(g.bias, g.bias + g.n, g.c + row * g.c_stride);
  }
}

template <class T>
void scale_output(const Gemm<T>& g) {
  for (Index row = 0; row < g.m; ++row) {
    for (Index column = 0; column < g.n; ++column) {
      T& value = g.c[row * g.c_stride + column];
      value = g.beta == T{0} ? T{0} : g.beta * value;
    }
  }
}

// Returns the product that fills the tile of C at (row, column).
template <class T>
Gemm<T> tile_of(const Gemm<T>& g, const TileGrid& tile, Index row, Index column) {
  Gemm<T> part = g;
  part.m = std::min(tile.rows, g.m - row);
  part.n = std::min(tile.columns, g.n - column);
  part.a += g.transpose_a ? row : row * g.a_stride;
  part.b += g.transpose_b ? column * g.b_stride : column;
  part.c += row * g.c_stride + column;
  part.bias = g.bias == nullptr ? nullptr : g.bias + column;
  return part;
}

// Returns true if C is done: for m, n or k = 0, scales C or sets the bias.
template <class T>
bool finish_empty(const Gemm<T>& g) {
  if (g.m == 0 || g.n == 0) {
    return true;
  }
  if (g.k == 0 && g.bias != nullptr) {
    fill_rows_with_bias(g);
  } else if (g.k == 0) {
    scale_output(g);
  }
  if (g.k == 0 && g.after) {
    g.after({0, g.m, 0, g.n});
  }
  return g.k == 0;
}

template <class T>
void openblas_on_this_thread(const Gemm<T>& g) {
  if (g.bias != nullptr) {
    fill_rows_with_bias(g);
  }
  const OpenMpThreadScope one_thread(1);
  call_openblas(g, g.bias != nullptr ? T{1} : g.beta);
}

template <class T>
void openblas(const Gemm<T>& g) {
  const TileGrid tile = choose_tiles(g.m, g.n, g.k);
  const Index columns = chunk_count(g.n, tile.columns);
  parallel_for(chunk_count(g.m, tile.rows) * columns, 1, [&](Index index, Index) {
    const Index row = index / columns * tile.rows;
    const Index column = index % columns * tile.columns;
    const Gemm<T> part = tile_of(g, tile, row, column);
    openblas_on_this_thread(part);
    if (g.after) {
      g.after({row, part.m, column, part.n});
    }
  });
}

// Multiplies with k > 0.
template <class T>
void multiply(const Gemm<T>& g) {
  if constexpr (std::is_same_v<T, float>) {
    if (g.precision == Precision::bfloat16) {
      bfloat16_gemm(g);
      return;
    }
  }
  products_are_own() ? tiled_gemm(g) : openblas(g);
}

template <class T>
PhaseTime cost_of(const Gemm<T>& g) {
  const auto m = static_cast<double>(g.m);
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double passes = g.beta == T{0} ? 1 : 2;
  return {.flops = 2 * m * n * k, .bytes = sizeof(T) * (m * k + k * n + passes * m * n)};
}

// The time of `after` is the sum of all threads, divided by their number.
template <class T>
void multiply_timed(const Gemm<T>& g, PhaseTimes& times) {
  std::atomic<Index> nanoseconds{0};
  Gemm<T> timed = g;
  if (g.after) {
    timed.after = [&](const GemmRegion& region) {
      const Stopwatch clock;
      g.after(region);
      nanoseconds += std::llround(1e9 * clock.seconds());
    };
  }
  PhaseTime product = cost_of(g);
  const Stopwatch clock;
  multiply(timed);
  product.seconds = clock.seconds();
  times.add_product(
      product, 1e-9 * static_cast<double>(nanoseconds.load()) / static_cast<double>(max_threads()));
}

}  // namespace

template <class T>
void gemm(const Gemm<T>& g) {
  if (finish_empty(g)) {
    return;
  }
  PhaseTimes* times = PhaseTimes::current();
  times == nullptr ? multiply(g) : multiply_timed(g, *times);
}

template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);

void gemm_with_threads_of_blas(const Gemm<float>& g) {
  assert(g.bias == nullptr && g.k > 0);
  const OpenMpThreadScope threads(static_cast<int>(max_threads()));
  call_openblas(g, g.beta);
}

}  // namespace headlight::kernels
