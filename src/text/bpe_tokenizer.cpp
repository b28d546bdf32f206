#include "headlight/text/bpe_tokenizer.h"

#include <algorithm>
#include <utility>

#include "headlight/tensor/error.h"
#include "headlight/text/bpe_pattern.h"
#include "headlight/text/utf8.h"
#include "text/bpe_state.h"

namespace headlight {

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary, std::string_view name)
    : state_(std::make_shared<const State>(std::move(vocabulary), name)) {}

Index BpeTokenizer::vocab_size() const {
  return static_cast<Index>(state_->vocabulary.tokens.size());
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  return encode_bytes(text);
}

std::vector<std::int32_t> BpeTokenizer::encode_parallel(std::string_view text) const {
  return encode(text);
}

std::vector<std::int32_t> BpeTokenizer::encode_bytes(std::string_view bytes) const {
  std::vector<std::int32_t> ids;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, bpe_piece_length(bytes));
    const std::size_t start = ids.size();
    for (const char byte : piece) {
      ids.push_back(state_->byte_ids[static_cast<std::uint8_t>(byte)]);
    }
    const std::size_t count = merge_tokens(state_->merges, std::span(ids).subspan(start));
    ids.resize(start + count);
    bytes.remove_prefix(piece.size());
  }
  return ids;
}

std::vector<std::int32_t> BpeTokenizer::encode_with_special(std::string_view text) const {
  require_utf8(text, "[encode_with_special] text");
  std::vector<std::int32_t> ids;
  std::size_t start = 0;  // of the plain text before the next special token
  const auto add_plain = [&](std::size_t end) {
    const auto plain = encode_bytes(text.substr(start, end - start));
    ids.insert(ids.end(), plain.begin(), plain.end());
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto& specials = state_->specials;
    const auto found = std::find_if(
        specials.begin(), specials.end(),
        [&](const SpecialToken& token) { return text.substr(i).starts_with(token.name); });
    if (found == specials.end()) {
      ++i;
      continue;
    }
    add_plain(i);
    ids.push_back(found->id);
    i += found->name.size();
    start = i;
  }
  add_plain(text.size());
  return ids;
}

std::string BpeTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return state_->vocabulary.tokens[static_cast<std::size_t>(id)];
}

std::int32_t BpeTokenizer::end_of_text() const { return state_->end_of_text; }

std::string_view BpeTokenizer::special_name(std::int32_t id) const {
  const auto& specials = state_->specials;
  const auto found = std::find_if(specials.begin(), specials.end(),
                                  [&](const SpecialToken& token) { return token.id == id; });
  return found == specials.end() ? std::string_view() : std::string_view(found->name);
}

const BpeVocabulary& BpeTokenizer::vocabulary() const { return state_->vocabulary; }

}  // namespace headlight
