#include "formats/sentencepiece/sentencepiece_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/sentencepiece/protobuf_reader.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

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
