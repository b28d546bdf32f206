#include "tokenizers/pipeline/charsmap.h"

#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kLongestReplacement = 1024;  // bytes

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

// A unit of the double array is the state behind one byte of a key.
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
bool matches_byte(std::uint32_t unit, std::uint32_t byte) {
  return (unit & (1U << 31 | 0xFFU)) == byte;
}
bool ends_key(std::uint32_t unit) { return (unit >> 8 & 1U) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & ~(1U << 31); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& where) {
  require(bytes.size() >= 4, where, ": expected at least 4 bytes, got ", bytes.size());
  const std::size_t size = little_endian(bytes);
  bytes.remove_prefix(4);
  require(size > 0 && size % 4 == 0 && size < bytes.size(), where, ": its array of ", size,
          " bytes does not fit in ", bytes.size());
  for (std::size_t i = 0; i < size; i += 4) {
    units_.push_back(little_endian(bytes.substr(i)));
  }
  replacements_ = bytes.substr(size);
  require(replacements_.back() == '\0', where, ": its last replacement has no end");
}

Charsmap::Rule Charsmap::rule(std::string_view text, bool is_longest) const {
  Rule found;
  std::size_t index = units_.empty() ? 0 : offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(text[i]);
    index ^= byte;
    if (index >= units_.size() || !matches_byte(units_[index], byte)) {
      break;
    }
    const std::uint32_t unit = units_[index];
    index ^= offset_of(unit);
    const std::size_t value = index < units_.size() ? value_of(units_[index]) : 0;
    if (ends_key(unit) && index < units_.size() && value < replacements_.size()) {
      const std::size_t end = replacements_.find('\0', value);
      found = {i + 1, std::string_view(replacements_).substr(value, end - value)};
      if (!is_longest) {
        break;
      }
    }
  }
  require(found.replacement.size() <= kLongestReplacement,
          "[encode] a rule of the normalizer writes ", found.replacement.size(),
          " bytes, expected at most ", kLongestReplacement);
  return found;
}

}  // namespace headlight
