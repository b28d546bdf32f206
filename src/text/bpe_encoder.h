#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/bpe_model.h"

namespace headlight {

// Encodes parts of one text, one after the other. Words come again and again, so it remembers where
// it has seen the latest pieces and copies their ids from its own output: memory that does not grow
// with the text, and nothing that threads would share.
class BpeEncoder {
 public:
  // For about so many bytes. The model and all texts must outlive the encoder.
  BpeEncoder(const BpeModel& model, std::size_t bytes) : model_(model), seen_(table_size(bytes)) {
    ids_.reserve(bytes / kBytesPerId + 1);
  }

  // Adds the ids of a text, which length_of(text) cuts into pieces one after the other.
  template <class LengthOf>
  void add(std::string_view text, const LengthOf& length_of) {
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, length_of(text));
      if (piece.size() == 1 && single_bytes_) {
        ids_.push_back(model_.byte_ids[static_cast<std::uint8_t>(piece[0])]);
      } else {
        add_piece(piece);
      }
      text.remove_prefix(piece.size());
    }
  }

  void add_piece(std::string_view piece);
  void add_token(std::int32_t id) { ids_.push_back(id); }
  // The ids of all that was added.
  std::vector<std::int32_t> take() { return std::move(ids_); }

 private:
  static constexpr std::size_t kBytesPerId = 3;  // a guess: room for the ids of most texts

  // A piece that was encoded before.
  struct Seen {
    const char* text = nullptr;
    std::size_t ids_begin = 0;
    std::uint32_t bytes = 0;  // 0: nothing
    std::uint32_t ids = 0;
  };

  static std::size_t table_size(std::size_t bytes);

  const BpeModel& model_;
  std::vector<Seen> seen_;  // by hash; a power of two
  std::vector<std::int32_t> ids_;
  // A byte is its own token, without a look at the table.
  bool single_bytes_ = !model_.characters && model_.every_byte;
};

// Parts of ids, joined; frees each once it is copied.
std::vector<std::int32_t> joined_ids(std::vector<std::vector<std::int32_t>> parts);

}  // namespace headlight
