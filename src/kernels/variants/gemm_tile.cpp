// Compiled once per instruction set, with the rules of loops.cpp. Loops over arrays of the
// compilers' vector types are unrolled into registers.
#include "kernels/gemm/gemm_tile.h"

#include "kernels/variants/tables.h"
#include "kernels/variants/vector_bytes.h"

namespace headlight::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;  // 14 x 2 accumulators + 2 for B + 1 for A = 31 of 32 registers
#elif defined(__AVX__)
constexpr int kRows = 6;  // 6 x 2 accumulators + 2 for B + 1 for A = 15 of 16 registers
#elif defined(__aarch64__)
constexpr int kRows = 12;  // 12 x 2 accumulators + 2 for B + 6 for A: with 14 rows GCC spills sums
#else
constexpr int kRows = 6;
#endif
#if defined(__AVX__) || defined(__aarch64__) || defined(__wasm__)
constexpr bool kFast = true;
#else
constexpr bool kFast = false;
#endif
constexpr int kVectors = 2;  // vectors per row of a panel

template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);
template <class T>
constexpr int kColumns = kVectors* kLanes<T>;

template <class T>
struct VectorTypes {
  typedef T Register __attribute__((vector_size(kVectorBytes)));
  // A vector in memory at any address.
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorTypes<T>::Register;

template <class T>
inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename VectorTypes<T>::Unaligned*>(from);
}
template <class T>
inline void store(T* to, Vector<T> value) {
  *reinterpret_cast<typename VectorTypes<T>::Unaligned*>(to) = value;
}

// Interleaves the lanes of the first (or last) halves of two vectors.
template <class T, int... kLane>
struct Interleave {
  static constexpr int kCount = sizeof...(kLane);
  static Vector<T> first(Vector<T> a, Vector<T> b) {
    return __builtin_shufflevector(a, b, (kLane / 2 + (kLane % 2) * kCount)...);
  }
  static Vector<T> last(Vector<T> a, Vector<T> b) {
    return __builtin_shufflevector(a, b, (kCount / 2 + kLane / 2 + (kLane % 2) * kCount)...);
  }
};

// Interleave<T, 0, 1, ... kCount - 1>. std::integer_sequence would bring inline functions of the
// standard library into this file; see loops.cpp.
template <class T, int kCount, int... kLane>
struct MakeInterleave : MakeInterleave<T, kCount - 1, kCount - 1, kLane...> {};
template <class T, int... kLane>
struct MakeInterleave<T, 0, kLane...> : Interleave<T, kLane...> {};

// Transposes a square of kLanes rows in place, by log2(kLanes) perfect shuffles.
template <class T>
inline void transpose_square(Vector<T> (&rows)[kLanes<T>]) {
  using Lanes = MakeInterleave<T, kLanes<T>>;
  constexpr int kHalf = kLanes<T> / 2;
  for (int step = 1; step < kLanes<T>; step *= 2) {
    Vector<T> next[kLanes<T>];
#pragma GCC unroll 16
    for (int i = 0; i < kHalf; ++i) {
      next[2 * i] = Lanes::first(rows[i], rows[i + kHalf]);
      next[2 * i + 1] = Lanes::last(rows[i], rows[i + kHalf]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<T>; ++i) {
      rows[i] = next[i];
    }
  }
}

// to[p * step + lane] = from[lane * stride + p] for lane < count; higher lanes get 0.
template <class T>
struct LaneTranspose {
  const T* from;
  Index stride;
  Index count;
  T* to;
  Index step;

  void run(Index k) const {
    Index p = 0;
    for (; p + kLanes<T> <= k; p += kLanes<T>) {
      Vector<T> rows[kLanes<T>];
#pragma GCC unroll 16
      for (int lane = 0; lane < kLanes<T>; ++lane) {
        rows[lane] = lane < count ? load(from + lane * stride + p) : Vector<T>{};
      }
      transpose_square<T>(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes<T>; ++i) {
        store(to + (p + i) * step, rows[i]);
      }
    }
    for (; p < k; ++p) {
      for (int lane = 0; lane < kLanes<T>; ++lane) {
        to[p * step + lane] = lane < count ? from[lane * stride + p] : T{0};
      }
    }
  }
};

template <class T>
void pack_panel(const MatrixView<T>& b, Index k, Index width, T* panel) {
  if (b.row_stride == 1 && b.column_stride != 1) {
    for (int vector = 0; vector < kVectors; ++vector) {
      const Index first = vector * kLanes<T>;
      LaneTranspose<T>{b.at(0, first), b.column_stride, width - first, panel + first, kColumns<T>}
          .run(k);
    }
    return;
  }
  for (Index p = 0; p < k; ++p) {
    const T* row = b.at(p, 0);
    T* to = panel + p * kColumns<T>;
    if (width == kColumns<T> && b.column_stride == 1) {
      for (int vector = 0; vector < kVectors; ++vector) {
        store(to + vector * kLanes<T>, load(row + vector * kLanes<T>));
      }
      continue;
    }
    for (Index column = 0; column < kColumns<T>; ++column) {
      to[column] = column < width ? row[column * b.column_stride] : T{0};
    }
  }
}

// If a whole vector is stored for kRows elements, the next store overwrites the surplus.
template <class T>
void pack_strip(const MatrixView<T>& a, Index k, Index height, T* strip) {
  static_assert(kStripSlack >= kLanes<T>);
  Index p = 0;
  if constexpr (kRows <= kLanes<T>) {
    if (a.column_stride == 1) {
      LaneTranspose<T>{a.data, a.row_stride, height, strip, kRows}.run(k);
      return;
    }
    // A whole vector may read beyond its column, so the last column is read element by element.
    for (; a.row_stride == 1 && height == kRows && p + 1 < k; ++p) {
      store(strip + p * kRows, load(a.at(0, p)));
    }
  }
  for (; p < k; ++p) {
    const T* column = a.at(0, p);
    for (Index row = 0; row < height; ++row) {
      strip[p * kRows + row] = column[row * a.row_stride];
    }
  }
}

template <class T, int kHeight>
void multiply_rows(const MatrixView<T>& a, const T* panel, Index k, const TileUpdate<T>& update) {
  Vector<T> sums[kHeight][kVectors];
  for (auto& row : sums) {
    for (Vector<T>& sum : row) {
      sum = Vector<T>{};
    }
  }
  const T* a_data = a.data;
  const Index row_stride = a.row_stride;
  const Index column_stride = a.column_stride;
  for (Index p = 0; p < k; ++p) {
    Vector<T> b[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) {
      b[vector] = load(panel + p * kColumns<T> + vector * kLanes<T>);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kHeight; ++row) {
      const T factor = a_data[row * row_stride + p * column_stride];
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] += factor * b[vector];
      }
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kHeight; ++row) {
    for (int vector = 0; vector < kVectors; ++vector) {
      T* to = update.c + row * update.c_stride + vector * kLanes<T>;
      Vector<T> value = update.alpha * sums[row][vector];
      if (update.beta != T{0}) {
        value += update.beta * load(to);
      }
      if (update.bias != nullptr) {
        value += load(update.bias + vector * kLanes<T>);
      }
      store(to, value);
    }
  }
}

template <class T, int... kHeight>
struct Heights {
  static constexpr void (*kMultiply[])(const MatrixView<T>&, const T*, Index,
                                       const TileUpdate<T>&) = {multiply_rows<T, kHeight + 1>...};
};
template <class T, int kCount, int... kHeight>
struct MakeHeights : MakeHeights<T, kCount - 1, kCount - 1, kHeight...> {};
template <class T, int... kHeight>
struct MakeHeights<T, 0, kHeight...> : Heights<T, kHeight...> {};

// Multiplies a tile narrower than a panel through a buffer of full width.
template <class T>
void multiply_narrow(const MatrixView<T>& a, const T* panel, Index k, TileExtent extent,
                     const TileUpdate<T>& update) {
  T buffer[kRows * kColumns<T>] = {};
  T bias[kColumns<T>] = {};
  for (Index column = 0; column < extent.width; ++column) {
    bias[column] = update.bias == nullptr ? T{0} : update.bias[column];
    for (Index row = 0; row < extent.height && update.beta != T{0}; ++row) {
      buffer[row * kColumns<T> + column] = update.c[row * update.c_stride + column];
    }
  }
  MakeHeights<T, kRows>::kMultiply[extent.height - 1](
      a, panel, k,
      {.c = buffer,
       .c_stride = kColumns<T>,
       .alpha = update.alpha,
       .beta = update.beta,
       .bias = update.bias == nullptr ? nullptr : bias});
  for (Index row = 0; row < extent.height; ++row) {
    for (Index column = 0; column < extent.width; ++column) {
      update.c[row * update.c_stride + column] = buffer[row * kColumns<T> + column];
    }
  }
}

template <class T>
void multiply(const MatrixView<T>& a, const T* panel, Index k, TileExtent extent,
              const TileUpdate<T>& update) {
  if (extent.width < kColumns<T>) {
    multiply_narrow(a, panel, k, extent, update);
  } else {
    MakeHeights<T, kRows>::kMultiply[extent.height - 1](a, panel, k, update);
  }
}

template <class T>
constexpr GemmTiles<T> tiles() {
  return {.fast = kFast,
          .rows = kRows,
          .columns = kColumns<T>,
          .pack_panel = pack_panel<T>,
          .pack_strip = pack_strip<T>,
          .multiply = multiply<T>};
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const GemmTiles<float> kFloatTiles = tiles<float>();
const GemmTiles<double> kDoubleTiles = tiles<double>();

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
