#include "formats/sentencepiece/sentencepiece_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

// Reads the fields of a protocol buffer message in the order of the file
// (https://protobuf.dev/programming-guides/encoding). Throws Error that begins with `where` for
// bytes that are no message, and for a value of another kind than the caller asks for.
class ProtobufReader {
 public:
  // `bytes` must outlive the reader.
  ProtobufReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  // Reads the next field. Returns false at the end.
  bool next() {
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

  // Number and value of the field.
  std::uint64_t field() const { return field_; }
  bool flag() const { return whole() != 0; }
  std::int32_t integer() const { return static_cast<std::int32_t>(whole()); }
  float number() const {
    require_wire(Wire::four_bytes, "a 4-byte number");
    std::uint32_t bits = 0;
    for (std::size_t i = 4; i-- > 0;) {
      bits = bits << 8 | static_cast<unsigned char>(value_[i]);
    }
    float number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
  }
  std::string_view bytes() const {
    require_wire(Wire::bytes, "bytes");
    return value_;
  }

 private:
  enum class Wire : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

  std::uint64_t whole() const {
    require_wire(Wire::varint, "a whole number");
    return varint_;
  }
  std::uint64_t read_varint() {
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
  std::string_view take(std::uint64_t count) {
    require(count <= bytes_.size(), where_, ": ends inside of a field");
    const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  void require_wire(Wire expected, std::string_view name) const {
    require(wire_ == expected, where_, ": field ", field_, ": expected ", name,
            ", got another type");
  }

  std::string_view bytes_;  // that are not read yet
  std::string where_;
  std::uint64_t field_ = 0;
  Wire wire_ = Wire::varint;
  std::uint64_t varint_ = 0;
  std::string_view value_;
};

constexpr std::size_t kMostListed = std::size_t{1} << 20;
constexpr float kLargestPieceScore = 1e20F;

// Reads the fields of the messages; numbered as in sentencepiece_model.proto.
class SentencePieceReader {
 public:
  SentencePieceReader(std::string_view bytes, const std::string& name)
      : root_(bytes, name), name_(name) {}

  SentencePieceFile read() {
    while (root_.next()) {
      switch (root_.field()) {
        case 1:
          read_piece(root_.bytes());
          break;
        case 2:
          read_trainer(root_.bytes());
          break;
        case 3:
          read_normalizer_spec(root_.bytes());
          break;
        default:
          break;  // test data, and rules for decoded text
      }
    }
    set_names(std::move(names_), name_, file_.pieces);
    check();
    return std::move(file_);
  }

 private:
  void read_piece(std::string_view bytes) {
    ProtobufReader piece(bytes, concat_text(name_, ": token ", names_.size()));
    require(names_.size() < kMostListed, name_, ": more than ", kMostListed, " tokens");
    names_.emplace_back();
    file_.scores.push_back(0);
    file_.pieces.types.push_back(kNormal);
    while (piece.next()) {
      if (piece.field() == 1) {
        names_.back() = piece.bytes();
      } else if (piece.field() == 2) {
        file_.scores.back() = piece.number();
      } else if (piece.field() == 3) {
        file_.pieces.types.back() = piece.integer();
      }
    }
  }

  void read_trainer(std::string_view bytes) {
    ProtobufReader trainer(bytes, name_ + ": trainer_spec");
    while (trainer.next()) {
      switch (trainer.field()) {
        case 3:
          model_type_ = trainer.integer();
          break;
        case 24:
          require(!trainer.flag(), name_, ": treat_whitespace_as_suffix is not supported");
          break;
        case 35:
          file_.byte_fallback = trainer.flag();
          break;
        case 41:
          begin_ = trainer.integer();
          break;
        case 42:
          end_ = trainer.integer();
          break;
        default:
          break;
      }
    }
  }

  void read_normalizer_spec(std::string_view bytes) {
    ProtobufReader normalizer(bytes, name_ + ": normalizer_spec");
    while (normalizer.next()) {
      switch (normalizer.field()) {
        case 2:
          file_.charsmap = normalizer.bytes();
          break;
        case 3:
          file_.prefix = normalizer.flag();
          break;
        case 4:
          file_.single_blanks = normalizer.flag();
          break;
        case 5:
          require(normalizer.flag(), name_, ": escape_whitespaces = false is not supported");
          break;
        default:
          break;
      }
    }
  }

  // Returns the id if it is a control token's; else -1.
  std::int32_t control(std::int32_t id) const {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < file_.pieces.types.size() && file_.pieces.types[index] == kControl
               ? id
               : -1;
  }

  void check() {
    require(model_type_ == 1 || model_type_ == 2, name_, ": model_type: expected 1 (unigram) or 2 ",
            "(BPE), got ", model_type_);
    file_.unigram = model_type_ == 1;
    PieceTable& pieces = file_.pieces;
    for (std::size_t id = 0; id < pieces.types.size(); ++id) {
      require(std::abs(file_.scores[id]) <= kLargestPieceScore, name_, ": token ", id,
              ": expected a score between -1e20 and 1e20");
      const std::int32_t type = pieces.types[id];
      require(type >= kNormal && type <= kByte, name_, ": token ", id,
              ": expected a type from 1 to 6, got ", type);
      require(type != kUnused || file_.unigram, name_, ": token ", id,
              ": unused tokens of BPE models are not supported");
      require(type != kByte || is_byte_token(pieces.names[id]), name_, ": token ", id,
              ": expected a name like <0x41>");
      require(type != kUnknown || pieces.unknown < 0, name_, ": two unknown tokens");
      pieces.unknown = type == kUnknown ? static_cast<std::int32_t>(id) : pieces.unknown;
    }
    require(pieces.unknown >= 0, name_, ": has no unknown token");
    pieces.begin = control(begin_);
    pieces.end = control(end_);
  }

  ProtobufReader root_;
  const std::string& name_;
  SentencePieceFile file_;
  std::vector<std::string_view> names_;
  // Defaults of the format.
  std::int32_t model_type_ = 1;
  std::int32_t begin_ = 1;
  std::int32_t end_ = 2;
};

}  // namespace

SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string& name) {
  return SentencePieceReader(bytes, name).read();
}

}  // namespace headlight
