// Compiled once per instruction set, like loops.cpp of this folder. The compilers' vector types give
// the register tile: loops over arrays of them are unrolled into registers.
#include "kernels/gemm_tile.h"

#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kRows = 14;  // 14 x 2 accumulators, 2 of B, 1 of A: 31 of 32 registers
#elif defined(__AVX__)
constexpr int kLanes = 8;
constexpr int kRows = 6;  // 6 x 2 accumulators, 2 of B, 1 of A: 15 of 16 registers
#elif defined(__aarch64__)
constexpr int kLanes = 4;
constexpr int kRows = 14;
#else
constexpr int kLanes = 4;
constexpr int kRows = 6;
#endif
#if defined(__AVX__) || defined(__aarch64__)
constexpr bool kFast = true;
#else
constexpr bool kFast = false;
#endif
constexpr int kVectors = 2;
constexpr int kColumns = kVectors * kLanes;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
// The same in memory at any address.
typedef float Unaligned __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

inline Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
inline void store(float* to, Vector value) { *reinterpret_cast<Unaligned*>(to) = value; }

// Alternates the lanes of the first (or last) halves of a and b.
template <int kFirst, int... kLane>
inline Vector interleave(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, (kFirst + kLane / 2 + (kLane % 2) * kLanes)...);
}

template <int... kLane>
struct Lanes {
  static Vector low(Vector a, Vector b) { return interleave<0, kLane...>(a, b); }
  static Vector high(Vector a, Vector b) { return interleave<kLanes / 2, kLane...>(a, b); }
};

template <int kCount, int... kLane>
struct MakeLanes : MakeLanes<kCount - 1, kCount - 1, kLane...> {};
template <int... kLane>
struct MakeLanes<0, kLane...> {
  using Type = Lanes<kLane...>;
};
using AllLanes = MakeLanes<kLanes>::Type;

// A square of kLanes rows becomes its transpose: log2(kLanes) perfect shuffles of the rows.
inline void transpose_square(Vector (&rows)[kLanes]) {
  for (int step = 1; step < kLanes; step *= 2) {
    Vector next[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = AllLanes::low(rows[i], rows[i + kLanes / 2]);
      next[2 * i + 1] = AllLanes::high(rows[i], rows[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      rows[i] = next[i];
    }
  }
}

// to[p * step + lane] = from[lane * stride + p] for lane < count; the lanes above get 0.
inline void transpose_lanes(const float* from, Index stride, Index count, Index k, float* to,
                            Index step) {
  Index p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    Vector rows[kLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[lane] = lane < count ? load(from + lane * stride + p) : Vector{};
    }
    transpose_square(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      store(to + (p + i) * step, rows[i]);
    }
  }
  for (; p < k; ++p) {
    for (int lane = 0; lane < kLanes; ++lane) {
      to[p * step + lane] = lane < count ? from[lane * stride + p] : 0.0F;
    }
  }
}

inline Index smaller(Index a, Index b) { return a < b ? a : b; }

void pack_panel(const MatrixView& b, Index k, Index width, float* panel) {
  if (b.row_stride == 1 && b.column_stride != 1) {
    for (int vector = 0; vector < kVectors; ++vector) {
      const Index first = vector * kLanes;
      const Index count = width > first ? smaller(width - first, kLanes) : 0;
      transpose_lanes(b.at(0, first), b.column_stride, count, k, panel + first, kColumns);
    }
    return;
  }
  for (Index p = 0; p < k; ++p) {
    const float* row = b.at(p, 0);
    float* to = panel + p * kColumns;
    if (width == kColumns && b.column_stride == 1) {
      for (int vector = 0; vector < kVectors; ++vector) {
        store(to + vector * kLanes, load(row + vector * kLanes));
      }
      continue;
    }
    for (Index column = 0; column < kColumns; ++column) {
      to[column] = column < width ? row[column * b.column_stride] : 0.0F;
    }
  }
}

// Rows of kLanes lanes are written where the strip has kRows: each row overwrites the surplus of
// the one before.
void pack_strip(const MatrixView& a, Index k, Index height, float* strip) {
  static_assert(kStripSlack >= kLanes);
  if constexpr (kRows <= kLanes) {
    if (a.column_stride == 1) {
      transpose_lanes(a.data, a.row_stride, height, k, strip, kRows);
      return;
    }
  }
  Index p = 0;
  if constexpr (kRows <= kLanes) {
    // A whole vector reads into the next row of memory, except from the last one.
    for (; a.row_stride == 1 && height == kRows && p + 1 < k; ++p) {
      store(strip + p * kRows, load(a.at(0, p)));
    }
  }
  for (; p < k; ++p) {
    const float* column = a.at(0, p);
    for (Index row = 0; row < height; ++row) {
      strip[p * kRows + row] = column[row * a.row_stride];
    }
  }
}

template <int kHeight>
void multiply_rows(const MatrixView& a, const float* panel, Index k, const TileUpdate& update) {
  Vector sums[kHeight][kVectors];
  for (auto& row : sums) {
    for (Vector& sum : row) {
      sum = Vector{};
    }
  }
  const float* a_data = a.data;
  const Index row_stride = a.row_stride;
  const Index column_stride = a.column_stride;
  for (Index p = 0; p < k; ++p) {
    Vector b[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) {
      b[vector] = load(panel + p * kColumns + vector * kLanes);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kHeight; ++row) {
      const float factor = a_data[row * row_stride + p * column_stride];
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] += factor * b[vector];
      }
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kHeight; ++row) {
    for (int vector = 0; vector < kVectors; ++vector) {
      float* to = update.c + row * update.c_stride + vector * kLanes;
      Vector value = update.alpha * sums[row][vector];
      if (update.beta != 0.0F) {
        value += update.beta * load(to);
      }
      if (update.bias != nullptr) {
        value += load(update.bias + vector * kLanes);
      }
      store(to, value);
    }
  }
}

using MultiplyRows = void (*)(const MatrixView&, const float*, Index, const TileUpdate&);

template <int... kHeight>
struct Heights {
  static constexpr MultiplyRows kTable[] = {multiply_rows<kHeight + 1>...};
};
template <int kCount, int... kHeight>
struct MakeHeights : MakeHeights<kCount - 1, kCount - 1, kHeight...> {};
template <int... kHeight>
struct MakeHeights<0, kHeight...> {
  using Type = Heights<kHeight...>;
};
using AllHeights = MakeHeights<kRows>::Type;

// A tile that is narrower than a panel goes through a buffer of full width.
void multiply_narrow(const MatrixView& a, const float* panel, Index k, Index height, Index width,
                     const TileUpdate& update) {
  float buffer[kRows * kColumns] = {};
  float bias[kColumns] = {};
  for (Index column = 0; column < width; ++column) {
    bias[column] = update.bias == nullptr ? 0.0F : update.bias[column];
    for (Index row = 0; row < height && update.beta != 0.0F; ++row) {
      buffer[row * kColumns + column] = update.c[row * update.c_stride + column];
    }
  }
  AllHeights::kTable[height - 1](a, panel, k,
                                 {.c = buffer,
                                  .c_stride = kColumns,
                                  .alpha = update.alpha,
                                  .beta = update.beta,
                                  .bias = update.bias == nullptr ? nullptr : bias});
  for (Index row = 0; row < height; ++row) {
    for (Index column = 0; column < width; ++column) {
      update.c[row * update.c_stride + column] = buffer[row * kColumns + column];
    }
  }
}

void multiply(const MatrixView& a, const float* panel, Index k, Index height, Index width,
              const TileUpdate& update) {
  if (width < kColumns) {
    multiply_narrow(a, panel, k, height, width, update);
  } else {
    AllHeights::kTable[height - 1](a, panel, k, update);
  }
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const GemmTiles kGemmTiles = {.fast = kFast,
                              .rows = kRows,
                              .columns = kColumns,
                              .pack_panel = pack_panel,
                              .pack_strip = pack_strip,
                              .multiply = multiply};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
