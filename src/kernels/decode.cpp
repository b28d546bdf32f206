#include "kernels/decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu_variant.h"
#include "kernels/loops.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

constexpr float kLargestInteger = 127;
constexpr Index kGroupsOfBlock = 1 + kScaleBlock / 4;  // the scales and 32 columns of int8

// The scale that brings `count` weights into -127 ... 127; 0 when all are 0, NaN when one is.
float scale_of(const float* weights, Index count) {
  float largest = 0;
  for (Index k = 0; k < count; ++k) {
    const float magnitude = std::abs(weights[k]);
    largest = magnitude > largest || std::isnan(magnitude) ? magnitude : largest;
  }
  return largest / kLargestInteger;
}

// With a scale that is no usable number the products are NaN, whatever this is.
std::int8_t quantized(float weight, float scale) {
  if (!(scale > 0 && scale < std::numeric_limits<float>::infinity())) {
    return 0;
  }
  const float q = std::nearbyint(weight / scale);
  return static_cast<std::int8_t>(std::clamp(q, -kLargestInteger, kLargestInteger));
}

// Panels are arrays of words [group, 16]; this is where a group keeps a lane's word.
std::uint32_t* word_of(void* panel, Index group, Index lane) {
  return static_cast<std::uint32_t*>(panel) + group * kPanelRows + lane;
}

void pack_float32(const float* row, Index columns, void* panel, Index lane) {
  for (Index k = 0; k < columns; ++k) {
    *word_of(panel, k, lane) = std::bit_cast<std::uint32_t>(row[k]);
  }
}

void pack_bfloat16(const float* row, Index columns, void* panel, Index lane) {
  for (Index k = 0; k < columns; ++k) {
    *word_of(panel, k / 2, lane) |= std::uint32_t{BFloat16(row[k]).bits} << (16 * (k % 2));
  }
}

void pack_int8(const float* row, Index columns, void* panel, Index lane) {
  for (Index block = 0; block * kScaleBlock < columns; ++block) {
    const float* weights = row + block * kScaleBlock;
    const Index count = std::min(kScaleBlock, columns - block * kScaleBlock);
    const Index first_group = block * kGroupsOfBlock;
    const float scale = scale_of(weights, count);
    *word_of(panel, first_group, lane) = std::bit_cast<std::uint32_t>(scale);
    for (Index k = 0; k < count; ++k) {
      const auto byte = static_cast<std::uint8_t>(quantized(weights[k], scale));
      constexpr Index kHalf = kScaleBlock / 2;
      const Index byte_of_word = k % 2 * 2 + k / kHalf;
      *word_of(panel, first_group + 1 + k % kHalf / 2, lane) |= std::uint32_t{byte}
                                                                << (8 * byte_of_word);
    }
  }
}

const Int8Panels& int8_panels() {
  if (cpu_variant() == CpuVariant::v4 && has_vnni()) {
    return vnni::kInt8Panels;
  }
  return pick(cpu_variant(), baseline::kInt8Panels, v2::kInt8Panels, v3::kInt8Panels,
              v4::kInt8Panels);
}

}  // namespace

bool has_vnni() {
#if defined(__x86_64__)
  // Asked once: in a virtual machine the question takes as long as a product.
  static const bool has = supports(CpuVariant::v4) && __builtin_cpu_supports("avx512vnni");
  return has;
#else
  return false;
#endif
}

Index panel_bytes(PanelFormat format, Index columns) {
  constexpr Index kGroupBytes = kPanelRows * 4;
  switch (format) {
    case PanelFormat::bfloat16:
      return (columns + 1) / 2 * kGroupBytes;
    case PanelFormat::int8:
      return (columns + kScaleBlock - 1) / kScaleBlock * kGroupsOfBlock * kGroupBytes;
    case PanelFormat::float32:
      break;
  }
  return columns * kGroupBytes;
}

void pack_panel(PanelFormat format, const float* weights, Index rows, Index columns, void* panel) {
  std::memset(panel, 0, static_cast<std::size_t>(panel_bytes(format, columns)));
  for (Index lane = 0; lane < rows; ++lane) {
    const float* row = weights + lane * columns;
    switch (format) {
      case PanelFormat::float32:
        pack_float32(row, columns, panel, lane);
        break;
      case PanelFormat::bfloat16:
        pack_bfloat16(row, columns, panel, lane);
        break;
      case PanelFormat::int8:
        pack_int8(row, columns, panel, lane);
        break;
    }
  }
}

void round_row(PanelFormat format, float* row, Index columns) {
  if (format == PanelFormat::bfloat16) {
    for (Index k = 0; k < columns; ++k) {
      row[k] = static_cast<float>(BFloat16(row[k]));
    }
  } else if (format == PanelFormat::int8) {
    for (Index begin = 0; begin < columns; begin += kScaleBlock) {
      const Index end = std::min(columns, begin + kScaleBlock);
      const float scale = scale_of(row + begin, end - begin);
      for (Index k = begin; k < end; ++k) {
        row[k] = scale * static_cast<float>(quantized(row[k], scale));
      }
    }
  }
}

const DecodeLoops& decode_loops() {
  return pick(cpu_variant(), baseline::kDecodeLoops, v2::kDecodeLoops, v3::kDecodeLoops,
              v4::kDecodeLoops);
}

void multiply_panels(PanelFormat format, const PanelProduct& product) {
  const DecodeLoops& loop = decode_loops();
  switch (format) {
    case PanelFormat::bfloat16:
      loop.multiply_bfloat16(product);
      return;
    case PanelFormat::int8:
      int8_panels().multiply(product);
      return;
    case PanelFormat::float32:
      break;
  }
  loop.multiply_float32(product);
}

}  // namespace headlight::kernels
