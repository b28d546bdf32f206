#include "headlight/tokenizers/char_tokenizer.h"

#include <utility>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "tokenizers/special_names.h"

namespace headlight {
namespace {

constexpr std::int32_t kSpecialTokens = 2;

// Returns the id of <|endoftext|> among so many characters.
std::optional<std::int32_t> end_id(SpecialTokens specials, std::size_t characters) {
  if (specials == SpecialTokens::none) {
    return std::nullopt;
  }
  return specials == SpecialTokens::first ? 0 : static_cast<std::int32_t>(characters);
}

}  // namespace

CharTokenizer::CharTokenizer(std::vector<char32_t> characters, SpecialTokens specials)
    : Tokenizer(end_id(specials, characters.size())),
      first_character_(specials == SpecialTokens::first ? kSpecialTokens : 0),
      first_special_(end_token()),
      characters_(std::move(characters)) {
  ids_.reserve(characters_.size());
  std::string checked;
  for (const char32_t character : characters_) {
    append_utf8(character, checked);  // throws unless it is a character
    checked.clear();
    const auto id = static_cast<std::int32_t>(ids_.size()) + first_character_;
    const bool added = ids_.emplace(character, id).second;
    require(added, "[CharTokenizer] character ", static_cast<std::uint32_t>(character),
            " appears twice");
  }
}

std::optional<std::int32_t> CharTokenizer::unknown() const {
  return first_special_ ? std::optional(*first_special_ + 1) : std::nullopt;
}

Index CharTokenizer::vocab_size() const {
  return static_cast<Index>(characters_.size()) + (first_special_ ? kSpecialTokens : 0);
}

std::vector<std::int32_t> CharTokenizer::encode_bytes(std::string_view bytes,
                                                      const EncodeOptions& options) const {
  require_utf8(bytes, "[encode] text");
  return ids_of_segments(*this, bytes, options, [&](std::string_view rest, const auto& add) {
    while (!rest.empty()) {
      const Utf8Character character = first_character(rest);
      const std::string_view text = rest.substr(0, static_cast<std::size_t>(character.length));
      const auto found = ids_.find(character.code_point);
      require(found != ids_.end() || unknown(), "[encode] character ", in_quotes(text),
              " is not in the vocabulary, which has no ", kUnknownName);
      add(found == ids_.end() ? *unknown() : found->second, text);
      rest.remove_prefix(text.size());
    }
  });
}

std::string CharTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  if (id == first_special_) {
    return {};
  }
  if (id == unknown()) {
    return std::string(kReplacementCharacter);
  }
  std::string bytes;
  append_utf8(characters_[static_cast<std::size_t>(id - first_character_)], bytes);
  return bytes;
}

std::string_view CharTokenizer::special_name(std::int32_t id) const {
  return id == first_special_ ? kEndOfTextName : id == unknown() ? kUnknownName : "";
}

void CharTokenizerBuilder::feed(std::string_view text) {
  require_utf8(text, "[build_char_tokenizer] corpus");
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.code_point >= seen_.size()) {
      seen_.resize(character.code_point + 1);
    }
    seen_[character.code_point] = true;
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
}

CharTokenizer CharTokenizerBuilder::finish() const {
  std::vector<char32_t> characters;
  for (std::size_t code_point = 0; code_point < seen_.size(); ++code_point) {
    if (seen_[code_point]) {
      characters.push_back(static_cast<char32_t>(code_point));
    }
  }
  return CharTokenizer(std::move(characters));
}

CharTokenizer build_char_tokenizer(std::string_view corpus) {
  CharTokenizerBuilder builder;
  builder.feed(corpus);
  return builder.finish();
}

}  // namespace headlight
