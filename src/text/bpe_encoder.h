#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/bpe_state.h"

namespace headlight {

// Encodes one text. Words come again and again, so it remembers where it has seen the latest pieces
// and copies their ids from its own output: memory that does not grow with the text, and nothing
// that threads would share.
class BpeEncoder {
 public:
  // The state and the text must outlive the encoder.
  BpeEncoder(const BpeState& state, std::string_view text);

  // The ids of the whole text.
  std::vector<std::int32_t> run();

 private:
  // A piece that was encoded before.
  struct Seen {
    std::size_t text_begin = 0;
    std::size_t ids_begin = 0;
    std::uint32_t bytes = 0;  // 0: nothing
    std::uint32_t ids = 0;
  };

  Seen& place_of(std::string_view piece);
  void append(std::string_view piece);

  const BpeState& state_;
  std::string_view text_;
  std::vector<Seen> seen_;  // by hash; a power of two
  std::vector<std::int32_t> ids_;
};

}  // namespace headlight
