#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/aligned_text.h"
#include "tokenizers/pipeline/charsmap.h"
#include "tokenizers/pipeline/piece_trie.h"

namespace headlight {

// The normalizer of SentencePiece: replaces characters by the rules of a charsmap, removes
// superfluous blanks, and writes the others as marks. Invalid bytes become U+FFFD.
class SentencePieceNormalizer {
 public:
  struct Options {
    Charsmap rules = {};
    std::vector<std::string> kept = {};  // user-defined tokens, which no rule changes
    bool prefix = true;                  // a mark before every text
    bool single_blanks = true;  // runs of blanks become one; none stays at the start or end
  };

  explicit SentencePieceNormalizer(Options options);

  void apply(const AlignedText& text, MadeText& made) const;

 private:
  struct Part {
    std::string_view text = {};
    std::size_t bytes = 0;  // that it replaces
  };
  Part first_part(std::string_view text) const;

  Options options_;
  PieceTrie kept_;
};

}  // namespace headlight
