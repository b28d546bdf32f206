#include "formats/arrays/npy_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "headlight/base/error.h"
#include "headlight/tensor/print.h"
#include "tensor/tensor_file.h"

namespace headlight {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kAlignment = 64;

struct NpyType {
  std::string_view name;
  DType dtype;
  bool half = false;
};

constexpr std::array<NpyType, 5> kNpyTypes{{{"<f4", DType::float32},
                                            {"<f2", DType::float32, true},
                                            {"<f8", DType::float64},
                                            {"<i4", DType::int32},
                                            {"|b1", DType::boolean}}};

std::string type_name(const NpyHeader& header) {
  if (header.characters > 0) {
    return "<U" + std::to_string(header.characters);
  }
  const auto* type = std::find_if(kNpyTypes.begin(), kNpyTypes.end(), [&](const NpyType& t) {
    return t.dtype == header.dtype && t.half == header.half;
  });
  require(type != kNpyTypes.end(), "[npy] NumPy has no ", header.dtype);
  return std::string(type->name);
}

// Parser of the only Python literal that the format allows: a dictionary.
class DictionaryParser {
 public:
  DictionaryParser(std::string_view text, std::string_view where) : rest_(text), where_(where) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_member();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    check(rest_ == "\n", "does not end with one line break");
    check(has_type() && row_major_ && shape_.has_value(), "has a missing key");
    return {type_ == nullptr ? DType::float32 : type_->dtype, *shape_,
            type_ != nullptr && type_->half, characters_};
  }

 private:
  void check(bool good, std::string_view problem) const {
    require(good, where_, ": the header ", problem);
  }

  void parse_member() {
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr" && !has_type()) {
      parse_type();
    } else if (key == "fortran_order" && !row_major_) {
      row_major_ = parse_false();
    } else if (key == "shape" && !shape_.has_value()) {
      shape_ = parse_shape();
    } else {
      fail(where_, ": the header has an unknown or repeated key ", in_quotes(key));
    }
  }

  bool has_type() const { return type_ != nullptr || characters_ > 0; }

  void parse_type() {
    constexpr std::size_t kMostCharacters = std::size_t{1} << 20;
    const std::string_view name = parse_string();
    for (const NpyType& type : kNpyTypes) {
      type_ = type.name == name ? &type : type_;
    }
    if (type_ == nullptr && name.starts_with("<U")) {
      characters_ = read_number<std::size_t>(name.substr(2)).value_or(0);
      check(characters_ > 0 && characters_ <= kMostCharacters,
            "has strings that are empty or too long");
    }
    require(has_type(), where_, ": element type ", in_quotes(name),
            " is not <f4, <f2, <f8, <i4, |b1 or <U");
  }

  bool parse_false() {
    constexpr std::string_view kFalse = "False";
    skip_spaces();
    check(!rest_.starts_with("True"),
          "has fortran_order True; write numpy.ascontiguousarray(array) instead");
    check(rest_.starts_with(kFalse), "has a fortran_order other than False");
    rest_.remove_prefix(kFalse.size());
    return true;
  }

  Shape parse_shape() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      check(shape.rank() < kMaxRank, "has too many axes");
      shape.push_back(parse_size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  Index parse_size() {
    skip_spaces();
    Index value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      value = value * 10 + (rest_[digits] - '0');
      check(value <= kMaxAxisSize, "has an axis that is too long");
      ++digits;
    }
    check(digits > 0, "has an axis that is not a number");
    rest_.remove_prefix(digits);
    return value;
  }

  // Parses a text between two quotes of the same kind, without escapes.
  std::string_view parse_string() {
    skip_spaces();
    check(rest_.starts_with('\'') || rest_.starts_with('"'),
          "has no quoted string where one is expected");
    const std::size_t end = rest_.find(rest_.front(), 1);
    check(end != std::string_view::npos, "has a string without end");
    const std::string_view result = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return result;
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool accept(char expected) {
    skip_spaces();
    const bool found = rest_.starts_with(expected);
    rest_.remove_prefix(found ? 1 : 0);
    return found;
  }

  void expect(char expected) {
    require(accept(expected), where_, ": the header has no '", expected, "'");
  }

  std::string_view rest_;
  std::string_view where_;
  const NpyType* type_ = nullptr;
  std::size_t characters_ = 0;  // per text; 0: numbers
  std::optional<Shape> shape_;
  bool row_major_ = false;
};

}  // namespace

std::string format_npy_header(const NpyHeader& header) {
  std::string text = "{'descr': '" + std::string(type_name(header)) +
                     "', 'fortran_order': False, 'shape': " + tuple_text(header.shape) + ", }";
  const std::size_t unpadded = kNpyPrefixBytes + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string result(kMagic);
  result += static_cast<char>(text.size() & 0xFF);
  result += static_cast<char>(text.size() >> 8);
  return result + text;
}

std::size_t npy_text_bytes(std::span<const std::byte, kNpyPrefixBytes> prefix,
                           std::string_view where) {
  require(std::memcmp(prefix.data(), kMagic.data(), kMagic.size()) == 0, where,
          ": not a version 1.0 .npy file");
  return std::to_integer<std::size_t>(prefix[8]) | std::to_integer<std::size_t>(prefix[9]) << 8;
}

NpyHeader parse_npy_text(std::string_view text, std::string_view where) {
  return DictionaryParser(text, where).parse();
}

}  // namespace headlight
