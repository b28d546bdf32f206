#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/bpe_state.h"

namespace headlight {

// Encodes parts of one text, one after the other. Words come again and again, so it remembers where
// it has seen the latest pieces and copies their ids from its own output: memory that does not grow
// with the text, and nothing that threads would share.
class BpeEncoder {
 public:
  // For about so many bytes. The state and the text must outlive the encoder.
  BpeEncoder(const BpeState& state, std::size_t bytes);

  // Adds the ids of a text, whose pieces are those that it has alone.
  void add(std::string_view text);
  void add_token(std::int32_t id) { ids_.push_back(id); }
  // The ids of all that was added.
  std::vector<std::int32_t> take() { return std::move(ids_); }

 private:
  // A piece that was encoded before.
  struct Seen {
    const char* text = nullptr;
    std::size_t ids_begin = 0;
    std::uint32_t bytes = 0;  // 0: nothing
    std::uint32_t ids = 0;
  };

  void add_piece(std::string_view piece);

  const BpeState& state_;
  std::vector<Seen> seen_;  // by hash; a power of two
  std::vector<std::int32_t> ids_;
};

}  // namespace headlight
