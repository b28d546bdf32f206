#pragma once

#include <cstdint>

#include "kernels/panels/panels.h"
#include "kernels/variants/vector_bytes.h"

// Included only by attention_step.cpp, float_panels.cpp and integer_panels.cpp of this folder.
// Everything is static, because copies for different instruction sets must not be merged. Uses the
// vector types of GCC and Clang: arrays of float would not stay in registers.
namespace headlight::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kLargestTile = 4;  // vectors x whose sums fit the registers
constexpr int kTilePanels = 3;   // with a single chain: panels
constexpr int kTileVectors = 8;  // with a single chain: vectors
#elif defined(__AVX__)
constexpr int kLargestTile = 2;
constexpr int kTilePanels = 1;
constexpr int kTileVectors = 4;
#else
constexpr int kLargestTile = 1;
constexpr int kTilePanels = 1;
constexpr int kTileVectors = 2;
#endif
constexpr int kWidth = kVectorBytes / 4;
constexpr int kParts = static_cast<int>(kPanelRows) / kWidth;
// Independent sums: column k goes to sum k % kChains, so that an addition need not wait for the
// previous one.
constexpr int kChains = kParts == 1 ? 4 : 2;
constexpr Index kPrefetchBytes = 2048;

using Vector = float __attribute__((vector_size(kVectorBytes)));
using Words = std::uint32_t __attribute__((vector_size(kVectorBytes)));
using Integers = std::int32_t __attribute__((vector_size(kVectorBytes)));

// One number for each of the 16 rows of a panel.
struct Lanes {
  Vector part[kParts];
};

// A vector in memory at any address. Copies of whole structs would go through half vectors, and
// Clang ignores the alignment of a `using`.
typedef float UnalignedVector __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));

inline Vector load_vector(const void* from) { return *static_cast<const UnalignedVector*>(from); }

inline void load(const void* from, Lanes& to) {
  for (int p = 0; p < kParts; ++p) {
    to.part[p] = load_vector(static_cast<const char*>(from) + p * kVectorBytes);
  }
}

inline void store(const Lanes& from, void* to) {
  for (int p = 0; p < kParts; ++p) {
    static_cast<UnalignedVector*>(to)[p] = from.part[p];
  }
}

// A compile-time number. std::integral_constant would bring inline functions into this file; see
// loops.cpp.
template <int kNumber>
struct Constant {
  static constexpr int value = kNumber;
};

// Calls body(Constant<n>, b) for tiles of n vectors; b is the first vector of the tile.
template <int kLargest, class Body>
void for_tiles(Index begin, Index end, const Body& body) {
  for (; begin + kLargest <= end; begin += kLargest) {
    body(Constant<kLargest>(), begin);
  }
  if constexpr (kLargest > 1) {
    for_tiles<kLargest / 2>(begin, end, body);
  }
}

// Format of a 32-bit word: a row's weights of kColumns adjacent columns. Shifts unpack it, because
// every machine has them for whole vectors.
struct Float32 {
  static constexpr int kColumns = 1;
  static Vector column(Vector words, int) { return words; }
};

// The lower half is the first column.
struct PairOfBFloat16 {
  static constexpr int kColumns = 2;
  static Vector column(Vector vector, int index) {
    const Words words = reinterpret_cast<Words>(vector);
    return reinterpret_cast<Vector>(index == 0 ? words << 16 : words & 0xFFFF0000U);
  }
};

// Prefetches memory a little at a time, because a core can have only so many requests in flight.
struct Ahead {
  const char* next = nullptr;
  Index third = 0;  // bytes, at most a cache line

  void prefetch() {
    __builtin_prefetch(next);
    __builtin_prefetch(next + third);
    __builtin_prefetch(next + 2 * third);
    next += 3 * third;
  }
};

// to += a * factor
inline void add_product(const Lanes& a, float factor, Lanes& to) {
  for (int p = 0; p < kParts; ++p) {
    to.part[p] += a.part[p] * factor;
  }
}

// Adds all chains into chains[0], in a fixed order.
inline void join(Lanes (&chains)[kChains]) {
  for (int half = kChains / 2; half > 0; half /= 2) {
    for (int c = 0; c < half; ++c) {
      for (int p = 0; p < kParts; ++p) {
        chains[c].part[p] += chains[c + half].part[p];
      }
    }
  }
}

// sums[b] += the first `used` columns of a group of words with x[b].
template <class Format, int kBatch>
inline void add_group(const char* group, int used, int chain, const float* x, Index x_stride,
                      Lanes (&sums)[kBatch][kChains]) {
  Lanes words;
  load(group, words);
  for (int j = 0; j < Format::kColumns; ++j) {
    if (j < used) {
      Lanes w;
      for (int p = 0; p < kParts; ++p) {
        w.part[p] = Format::column(words.part[p], j);
      }
      for (int b = 0; b < kBatch; ++b) {
        add_product(w, x[b * x_stride + j], sums[b][(chain + j) % kChains]);
      }
    }
  }
}

// sums[b] += products of `columns` columns of weights with x[b].
template <class Format, int kBatch>
inline void add_columns(const char* weights, Index columns, const float* x, Index x_stride,
                        Lanes (&sums)[kBatch][kChains]) {
  constexpr int kGroups = Format::kColumns < kChains ? kChains / Format::kColumns : 1;
  constexpr int kStep = kGroups * Format::kColumns;
  constexpr Index kGroupBytes = kPanelRows * 4;
  Index k = 0;
  for (; k + kStep <= columns; k += kStep) {
    for (int g = 0; g < kGroups; ++g) {
      __builtin_prefetch(weights + kPrefetchBytes);
      add_group<Format, kBatch>(weights, Format::kColumns, g * Format::kColumns,
                                x + k + g * Format::kColumns, x_stride, sums);
      weights += kGroupBytes;
    }
  }
  for (int chain = 0; k < columns; k += Format::kColumns, chain += Format::kColumns) {
    const Index rest = columns - k;
    const int used = rest < Format::kColumns ? static_cast<int>(rest) : Format::kColumns;
    add_group<Format, kBatch>(weights, used, chain, x + k, x_stride, sums);
    weights += kGroupBytes;
  }
}

// Returns columns [0, columns) as floats [columns, 16], in place or unpacked into `memory`.
template <class Format>
inline const Lanes* floats_of(const char* words, Index columns, Lanes* memory) {
  if constexpr (Format::kColumns == 1) {
    return reinterpret_cast<const Lanes*>(words);
  }
  for (Index k = 0; k < columns; k += Format::kColumns) {
    Lanes group;
    load(words + k / Format::kColumns * kPanelRows * 4, group);
    for (int j = 0; j < Format::kColumns; ++j) {
      for (int p = 0; p < kParts; ++p) {
        memory[k + j].part[p] = Format::column(group.part[p], j);
      }
    }
  }
  return memory;
}

// One chain of add_columns() for several panels: sums[b][p] += the products of the columns chain,
// chain + kChains, ... of panel p with x[b]. With fewer sums, more vectors fit the registers, which
// matters once the weights are in the first-level cache.
template <int kPanels, int kBatch>
inline void add_chain(const Lanes* const (&floats)[kPanels], Index columns, int chain,
                      const float* x, Index x_stride, Lanes (&sums)[kBatch][kPanels],
                      Ahead& ahead) {
  for (Index k = chain; k < columns; k += kChains) {
    ahead.prefetch();
#pragma GCC unroll 8
    for (int b = 0; b < kBatch; ++b) {
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; ++p) {
        add_product(floats[p][k], x[b * x_stride + k], sums[b][p]);
      }
    }
  }
}

}  // namespace
}  // namespace headlight::kernels
