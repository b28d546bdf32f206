#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headlight {

// Reads the fields of a protocol buffer message in the order of the file
// (https://protobuf.dev/programming-guides/encoding). Throws Error that begins with `where` for
// bytes that are no message, and for a value of another kind than the caller asks for.
class ProtobufReader {
 public:
  // `bytes` must outlive the reader.
  ProtobufReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  // Reads the next field. Returns false at the end.
  bool next();

  // Number and value of the field.
  std::uint64_t field() const { return field_; }
  bool flag() const { return whole() != 0; }
  std::int32_t integer() const { return static_cast<std::int32_t>(whole()); }
  float number() const;
  std::string_view bytes() const;

 private:
  enum class Wire : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

  std::uint64_t whole() const;
  std::uint64_t read_varint();
  std::string_view take(std::uint64_t count);
  void require_wire(Wire expected, std::string_view name) const;

  std::string_view bytes_;  // that are not read yet
  std::string where_;
  std::uint64_t field_ = 0;
  Wire wire_ = Wire::varint;
  std::uint64_t varint_ = 0;
  std::string_view value_;
};

}  // namespace headlight
