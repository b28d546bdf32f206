#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"
#include "tokenizers/aligned_text.h"

namespace headlight {

// A token that is searched for in the text before the other stages run.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;      // decodes to no text
  bool single_word = false;  // matches only without word characters beside it
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
  bool normalized = false;   // is searched for in the normalized text
};

// A part of a text: plain text or one added token.
struct TextSegment {
  std::string_view text;
  std::int32_t id = -1;        // -1: plain text, else the token of this text
  std::string_view name = {};  // of the token, within `text`, which may have white space around it
};

// Searches for added tokens: the leftmost match wins, then the longest, as in the class
// AddedVocabulary of Hugging Face `tokenizers`.
class AddedTokenMatcher {
 public:
  // Longest token of a file in bytes; it bounds the cost of one position of a text.
  static constexpr std::size_t kLongest = 1024;

  // If tokens have equal content, the last one is kept. Empty contents never match.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // Returns the parts of a text in order; plain-text parts are not empty. `options`: where special
  // tokens are plain text.
  std::vector<TextSegment> split(const AlignedText& text, const EncodeOptions& options) const;
  std::vector<TextSegment> split(std::string_view text, bool read_special) const {
    return split(AlignedText{text}, {.read_special = read_special});
  }

 private:
  struct Match {
    std::size_t length = 0;
    const AddedToken* token = nullptr;  // null: no match
  };

  struct FirstByte {
    std::size_t begin = 0;  // index in tokens_
    std::size_t end = 0;
  };

  void set_prefixes();
  Match match_at(std::string_view text, std::size_t begin) const;

  std::vector<AddedToken> tokens_;      // [T] sorted by content
  std::vector<std::int32_t> prefixes_;  // [T] the longest other token that is its prefix; -1: none
  std::array<FirstByte, 256> first_bytes_{};
  std::size_t longest_ = 0;  // bytes
};

}  // namespace headlight
