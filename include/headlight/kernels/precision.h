#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// Rounding of the elements of float32 operands in matrix products; sums are float32.
enum class Precision {
  float32,   // no rounding
  bfloat16,  // to nearest, ties to even; needs a CPU with bfloat16 products
};

template <>
inline constexpr auto kChoices<Precision> = std::to_array<Choice<Precision>>(
    {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}});

// Number format of packed weight matrices. Embeddings for look-up, norms, biases, activations and
// sums are always float32.
enum class WeightFormat {
  float32,
  bfloat16,  // rounded to nearest, ties to even: half the memory, nearly half the time
  // 32 neighbours in a row share a float32 scale: 36 bytes for 128. Activations are rounded to
  // 2^-15 of the largest of 32, for the product only.
  int8,
};

template <>
inline constexpr auto kChoices<WeightFormat> =
    std::to_array<Choice<WeightFormat>>({{"float32", WeightFormat::float32},
                                         {"bfloat16", WeightFormat::bfloat16},
                                         {"int8", WeightFormat::int8}});

// Returns the bytes of a weight, with its share of the scale.
constexpr double weight_bytes(WeightFormat format) {
  return format == WeightFormat::float32 ? 4 : format == WeightFormat::bfloat16 ? 2 : 36.0 / 32;
}

// Number format of cached keys and values.
enum class CacheType {
  float32,
  bfloat16,  // rounded to nearest, ties to even: half the memory
  float16,   // also half the memory; 3 more bits than bfloat16, but infinite above 65,504
  // D numbers of 8 bits share a float32 scale: the key, or the value, of one position and key head.
  int8,
};

// The second names are llama.cpp's names of types.
template <>
inline constexpr auto kChoices<CacheType> =
    std::to_array<Choice<CacheType>>({{"float32", CacheType::float32},
                                      {"bfloat16", CacheType::bfloat16},
                                      {"float16", CacheType::float16},
                                      {"int8", CacheType::int8},
                                      {"f32", CacheType::float32},
                                      {"bf16", CacheType::bfloat16},
                                      {"f16", CacheType::float16},
                                      {"q8_0", CacheType::int8}});

// Returns the bytes of a cached key or value of D numbers.
constexpr double cached_bytes(CacheType type, double width) {
  return type == CacheType::float32 ? 4 * width : type == CacheType::int8 ? width + 4 : 2 * width;
}

// Returns whether the machine, and the selected CPU variant and products, support `precision`.
bool supports_precision(Precision precision);
// Throws Error if they do not.
void require_precision(Precision precision);

}  // namespace headlight
