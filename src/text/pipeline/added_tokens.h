#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
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
  // Contents must not be empty. Time and memory grow with their bytes.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // The parts of a text in their order, none of them empty plain text. Special tokens are plain
  // text unless `read_special`.
  std::vector<TextSegment> split(std::string_view text, bool read_special) const;

 private:
  struct Match {
    std::size_t length = 0;
    const AddedToken* token = nullptr;  // null: none
  };

  void insert(std::size_t token);
  Match match_at(std::string_view text, std::size_t begin) const;

  std::vector<AddedToken> tokens_;
  // A trie. Nodes are numbers from 1; 0 is the root.
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by node and byte
  std::vector<std::int32_t> ends_{-1};                         // by node: the token, -1: none
  std::array<bool, 256> begins_{};                             // with this byte a token begins
};

}  // namespace headlight
