#pragma once

#include <immintrin.h>

#include "kernels/bfloat16/tiles.h"

// Included by this folder's AVX512-BF16 sources only; everything has internal linkage.
namespace headlight::kernels {
namespace {

constexpr Index kLanes = 16;

inline __mmask16 first_lanes(Index count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}

// Rounds 32 floats to bfloat16; elements from `count` on become 0 and are not read.
inline __m512i round_32(const float* from, Index count) {
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(count), from);
  const __m512 high = _mm512_maskz_loadu_ps(first_lanes(count - kLanes), from + kLanes);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Transposes 16 rows of 16 words in place, by four rounds of perfect shuffles.
inline void transpose_square(__m512i (&rows)[kLanes]) {
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i last =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  for (int step = 1; step < kLanes; step *= 2) {
    __m512i next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = _mm512_permutex2var_epi32(rows[i], first, rows[i + kLanes / 2]);
      next[2 * i + 1] = _mm512_permutex2var_epi32(rows[i], last, rows[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      rows[i] = next[i];
    }
  }
}

// Packs 16 columns of a B with contiguous columns.
inline void pack_down(const MatrixView<float>& b, Index k, Index width, Bfloat16Bits* panel) {
  for (Index p = 0; p < k; p += kBfloat16Depth) {
    __m512i pairs[kLanes];
    for (Index column = 0; column < kLanes; ++column) {
      pairs[column] = column < width ? round_32(b.at(p, column), k - p) : _mm512_setzero_si512();
    }
    transpose_square(pairs);
    for (Index pair = 0; pair < kLanes; ++pair) {
      _mm512_storeu_si512(panel + (p / 2 + pair) * kBfloat16Columns * 2, pairs[pair]);
    }
  }
}

// Returns pairs of elements [0, 16) of rows p and p + 1; `row` is row p. Rows from k on count as 0.
inline __m512i pairs_of_rows(const float* row, Index stride, __mmask16 lanes, Index p, Index k) {
  const __m512i interleave =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512 even = _mm512_maskz_loadu_ps(p < k ? lanes : 0, row);
  const __m512 odd = _mm512_maskz_loadu_ps(p + 1 < k ? lanes : 0, row + stride);
  const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
  return _mm512_permutexvar_epi16(interleave, both);
}

// Packs 16 columns of a B with contiguous rows.
inline void pack_across(const MatrixView<float>& b, Index k, Index width, Bfloat16Bits* panel) {
  const __mmask16 lanes = first_lanes(width);
  for (Index p = 0; p < packed_depth(k); p += 2) {
    _mm512_storeu_si512(panel + p / 2 * kBfloat16Columns * 2,
                        pairs_of_rows(b.at(p, 0), b.row_stride, lanes, p, k));
  }
}

void pack_panel(const MatrixView<float>& b, Index k, Index width, Bfloat16Bits* panel) {
  for (Index column = 0; column < kBfloat16Columns; column += kLanes) {
    const MatrixView<float> part{column < width ? b.at(0, column) : b.data, b.row_stride,
                                 b.column_stride};
    if (b.column_stride == 1) {
      pack_across(part, k, width - column, panel + column * 2);
    } else {
      pack_down(part, k, width - column, panel + column * 2);
    }
  }
}

// Packs 16 rows of an A with contiguous columns.
inline void pack_transposed(const MatrixView<float>& a, Index k, Index height, Index stride,
                            Bfloat16Bits* strip) {
  const __mmask16 lanes = first_lanes(height);
  for (Index p = 0; p < packed_depth(k); p += kBfloat16Depth) {
    __m512i pairs[kLanes];
    for (Index i = 0; i < kLanes; ++i) {
      pairs[i] = pairs_of_rows(a.at(0, p + 2 * i), a.column_stride, lanes, p + 2 * i, k);
    }
    transpose_square(pairs);
    for (Index row = 0; row < height && row < kLanes; ++row) {
      _mm512_storeu_si512(strip + row * stride + p, pairs[row]);
    }
  }
}

inline void pack_rows(const MatrixView<float>& a, Index k, Index height, Index stride,
                      Bfloat16Bits* strip) {
  for (Index row = 0; row < height; ++row) {
    if (a.column_stride == 1) {
      for (Index p = 0; p < packed_depth(k); p += kBfloat16Depth) {
        _mm512_storeu_si512(strip + row * stride + p, round_32(a.at(row, p), k - p));
      }
    } else if (row % kLanes == 0) {
      pack_transposed(a.from(row, 0), k, height - row, stride, strip + row * stride);
    }
  }
}

// Zeroes the rows after `height`, so that NaN from old memory cannot enter the products.
template <Index kRows>
void pack_strip(const MatrixView<float>& a, Index k, Index height, Index stride,
                Bfloat16Bits* strip) {
  pack_rows(a, k, height, stride, strip);
  for (Index row = height; row < kRows; ++row) {
    for (Index p = 0; p < packed_depth(k); p += kBfloat16Depth) {
      _mm512_storeu_si512(strip + row * stride + p, _mm512_setzero_si512());
    }
  }
}

}  // namespace
}  // namespace headlight::kernels
