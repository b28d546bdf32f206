#pragma once

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/variants/panels.h"

// Included only by sources of this folder: conversion of binary16 numbers.
namespace headlight::kernels {
namespace {

using HalfWords = std::uint16_t __attribute__((vector_size(kVectorBytes / 2)));

// Converts binary16, with the instruction of CPUs that have one.
inline Vector floats_of_halves(HalfWords halves) {
#if defined(__AVX512F__)
  // With a mask: GCC 12 takes the plain form for uninitialized.
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xFFFF, reinterpret_cast<__m256i>(halves)));
#elif defined(__F16C__)
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(halves)));
#elif defined(__aarch64__)
  return reinterpret_cast<Vector>(vcvt_f32_f16(reinterpret_cast<float16x4_t>(halves)));
#else
  // Fraction and exponent, moved to their positions in a float, are the value times 2^-112, also
  // for subnormal values.
  const Words words = __builtin_convertvector(halves, Words);
  const Words magnitude = (words & 0x7FFF) << 13;
  const Words special = reinterpret_cast<Words>(magnitude >= 0x0F800000) & 0x7F800000;
  const Vector scaled = reinterpret_cast<Vector>(magnitude) * 0x1p112F;
  return reinterpret_cast<Vector>(reinterpret_cast<Words>(scaled) | special |
                                  (words & 0x8000) << 16);
#endif
}

// Rounds to binary16: the formulas of float_to_half() for all cases, and a choice among them.
inline HalfWords halves_of_floats(Vector x) {
  const Words bits = reinterpret_cast<Words>(x);
  const Words magnitude = bits & 0x7FFFFFFF;
  const Vector absolute = reinterpret_cast<Vector>(magnitude);
  const Words subnormal = reinterpret_cast<Words>(absolute + 0.5F) - 0x3F000000;
  const Words normal = (magnitude - (112U << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  const Words infinity = Words{} + 0x7C00;
  const Words finite = absolute < Vector{} + 0x1p-14F ? subnormal : normal;
  const Words number = absolute < Vector{} + 0x1p16F ? finite : infinity;
  const Words nan = (magnitude >> 13 & 0x3FF) | 0x7E00;
  const Words half = magnitude > Words{} + 0x7F800000 ? nan : number;
  return __builtin_convertvector(half | (bits >> 16 & 0x8000), HalfWords);
}

// Converts a vector of numbers in memory.
inline Vector floats_of_halves(const void* from) {
  HalfWords halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return floats_of_halves(halves);
}

}  // namespace
}  // namespace headlight::kernels
