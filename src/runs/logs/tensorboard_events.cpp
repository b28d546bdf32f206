#include "runs/logs/tensorboard_events.h"

#include <array>
#include <bit>

namespace headlight {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) == 1 ? kPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = crc_table();

// The checksum that TFRecord stores: records may themselves contain checksums.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xA282EAD8;
  return std::rotr(crc32c(bytes), 15) + kMask;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>((value & 0x7F) | 0x80);
  }
  return bytes + static_cast<char>(value);
}

// Wire types of protocol buffers.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string key_of(std::uint64_t field, Wire wire) {
  return varint(field << 3 | static_cast<std::uint64_t>(wire));
}

std::string bytes_field(std::uint64_t field, std::string_view content) {
  return key_of(field, Wire::bytes) + varint(content.size()) + std::string(content);
}

std::string record_of(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + little_endian(masked_crc(length)) + std::string(event) +
         little_endian(masked_crc(event));
}

std::string wall_time_field(double wall_time) {
  return key_of(1, Wire::fixed64) + little_endian(std::bit_cast<std::uint64_t>(wall_time));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

std::string tensorboard_version(double wall_time) {
  return record_of(wall_time_field(wall_time) + bytes_field(3, "brain.Event:2"));
}

std::string tensorboard_scalars(double wall_time, Index step,
                                std::span<const NamedScalar> scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    summary += bytes_field(1, bytes_field(1, tag) + key_of(2, Wire::fixed32) + little_endian(bits));
  }
  return record_of(wall_time_field(wall_time) + key_of(2, Wire::varint) +
                   varint(static_cast<std::uint64_t>(step)) + bytes_field(5, summary));
}

}  // namespace headlight
