#include "headlight/text/char_tokenizer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "headlight/tensor/error.h"
#include "headlight/text/utf8.h"

namespace headlight {
namespace {

constexpr std::int32_t kSpecialTokens = 2;

}  // namespace

CharTokenizer::CharTokenizer(std::vector<char32_t> characters, SpecialTokens place)
    : first_character_(place == SpecialTokens::first ? kSpecialTokens : 0),
      first_special_(place == SpecialTokens::first ? 0
                                                   : static_cast<std::int32_t>(characters.size())),
      characters_(std::move(characters)) {
  ids_.reserve(characters_.size());
  std::string checked;
  for (const char32_t character : characters_) {
    append_utf8(character, checked);  // refuses what is not a character
    checked.clear();
    const auto id = static_cast<std::int32_t>(ids_.size()) + first_character_;
    const bool added = ids_.emplace(character, id).second;
    require(added, "[CharTokenizer] character ", static_cast<std::uint32_t>(character),
            " comes twice");
  }
}

Index CharTokenizer::vocab_size() const {
  return static_cast<Index>(characters_.size()) + kSpecialTokens;
}

std::vector<std::int32_t> CharTokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const auto found = ids_.find(character.code_point);
    ids.push_back(found == ids_.end() ? *unknown() : found->second);
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return ids;
}

std::string CharTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  if (id == end_of_text()) {
    return {};
  }
  if (id == unknown()) {
    return std::string(kReplacementCharacter);
  }
  std::string bytes;
  append_utf8(characters_[static_cast<std::size_t>(id - first_character_)], bytes);
  return bytes;
}

CharTokenizer build_char_tokenizer(std::string_view corpus) {
  require_utf8(corpus, "[build_char_tokenizer] corpus");
  std::set<char32_t> characters;
  while (!corpus.empty()) {
    const Utf8Character character = first_character(corpus);
    characters.insert(character.code_point);
    corpus.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return CharTokenizer({characters.begin(), characters.end()});
}

}  // namespace headlight
