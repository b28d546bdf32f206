#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// A token that is found in the text before anything else is done to it.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;      // no text: left out by decoding
  bool single_word = false;  // only where no word goes on beside it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and that behind it
  bool normalized = false;   // is looked for in the normalized text
};

// A part of a text: plain text or one added token.
struct TextSegment {
  std::string_view text;
  std::int32_t id = -1;  // -1: plain text
};

// Looks for added tokens: of those that overlap the leftmost, of those that begin at one place the
// longest, as the class AddedVocabulary of Hugging Face `tokenizers` does.
class AddedTokenMatcher {
 public:
  // The most bytes that a file's token may have: what one place of a text may cost.
  static constexpr std::size_t kLongest = 1024;

  // Of tokens with equal content the last one counts. Empty contents never match.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // True when a token has white space inside.
  bool any_has_space() const;
  // The parts of a text in their order, none of them empty plain text. Special tokens are plain
  // text unless `read_special`.
  std::vector<TextSegment> split(std::string_view text, bool read_special) const;

 private:
  struct Match {
    std::size_t length = 0;
    const AddedToken* token = nullptr;  // null: none
  };

  struct FirstByte {
    std::size_t begin = 0;  // of its tokens
    std::size_t end = 0;
  };

  void set_prefixes();
  Match match_at(std::string_view text, std::size_t begin) const;

  std::vector<AddedToken> tokens_;      // [T] in the order of their contents
  std::vector<std::int32_t> prefixes_;  // [T] the longest other token it begins with, -1: none
  std::array<FirstByte, 256> first_bytes_{};
  std::size_t longest_ = 0;  // bytes
};

}  // namespace headlight
