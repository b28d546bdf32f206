#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headlight/base/index.h"

// Event files of TensorBoard: records of TensorFlow (TFRecord), each an Event of its event.proto.
namespace headlight {

using NamedScalar = std::pair<std::string_view, double>;

// Returns the record that begins a file. `wall_time`: seconds since 1970.
std::string tensorboard_version(double wall_time);

// Returns the record with the scalars of one step.
std::string tensorboard_scalars(double wall_time, Index step, std::span<const NamedScalar> scalars);

// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace headlight
