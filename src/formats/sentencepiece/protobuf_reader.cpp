#include "formats/sentencepiece/protobuf_reader.h"

#include <cstring>

#include "headlight/base/error.h"

namespace headlight {

bool ProtobufReader::next() {
  if (bytes_.empty()) {
    return false;
  }
  const std::uint64_t key = read_varint();
  field_ = key >> 3;
  wire_ = static_cast<Wire>(key & 7);
  switch (wire_) {
    case Wire::varint:
      varint_ = read_varint();
      return true;
    case Wire::eight_bytes:
      value_ = take(8);
      return true;
    case Wire::bytes:
      value_ = take(read_varint());
      return true;
    case Wire::four_bytes:
      value_ = take(4);
      return true;
  }
  fail(where_, ": field ", field_, " has the unknown type ", key & 7);
}

float ProtobufReader::number() const {
  require_wire(Wire::four_bytes, "a 4-byte number");
  std::uint32_t bits = 0;
  for (std::size_t i = 4; i-- > 0;) {
    bits = bits << 8 | static_cast<unsigned char>(value_[i]);
  }
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

std::string_view ProtobufReader::bytes() const {
  require_wire(Wire::bytes, "bytes");
  return value_;
}

std::uint64_t ProtobufReader::whole() const {
  require_wire(Wire::varint, "a whole number");
  return varint_;
}

std::uint64_t ProtobufReader::read_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  fail(where_, ": a number has more than 10 bytes");
}

std::string_view ProtobufReader::take(std::uint64_t count) {
  require(count <= bytes_.size(), where_, ": ends inside of a field");
  const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
  bytes_.remove_prefix(taken.size());
  return taken;
}

void ProtobufReader::require_wire(Wire expected, std::string_view name) const {
  require(wire_ == expected, where_, ": field ", field_, ": expected ", name, ", got another type");
}

}  // namespace headlight
