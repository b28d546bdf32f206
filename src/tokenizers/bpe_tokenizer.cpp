#include "headlight/tokenizers/bpe_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/tokenizers/bpe_pattern.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/bpe_encoder.h"
#include "tokenizers/bpe_model.h"
#include "tokenizers/byte_characters.h"
#include "tokenizers/token_ranges.h"

namespace headlight {
namespace {

constexpr std::size_t kMostTokens = std::numeric_limits<std::int32_t>::max();

// Returns the ids by bytes. A special token must have no bytes: it is found by its name only.
TextMap<std::int32_t> ids_by_bytes(const BpeVocabulary& vocabulary, std::string_view name) {
  std::vector<bool> special(vocabulary.tokens.size(), false);
  for (const auto& [token, id] : vocabulary.special) {
    const bool inside = id >= 0 && static_cast<std::size_t>(id) < special.size();
    require(inside, name, ": special token ", in_quotes(token), " has id ", id, ", but there are ",
            special.size(), " tokens");
    require(!special[static_cast<std::size_t>(id)], name, ": two special tokens have id ", id);
    special[static_cast<std::size_t>(id)] = true;
  }
  TextMap<std::int32_t> ids;
  ids.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    require(token.empty() == special[id], name, ": token ", id,
            token.empty() ? " is empty" : " is special, but has bytes");
    const bool added = token.empty() || ids.emplace(token, id).second;
    if (!added) {
      fail(name, ": tokens ", ids[token], " and ", id, " are both ", in_quotes(byte_name(token)));
    }
  }
  return ids;
}

std::vector<AddedToken> added_tokens(const std::vector<SpecialToken>& special) {
  std::vector<AddedToken> tokens;
  for (const auto& [name, id] : special) {
    tokens.push_back({.content = name, .id = id, .special = true});
  }
  return tokens;
}

}  // namespace

// The checked vocabulary of a BpeTokenizer with its lookup tables.
struct BpeState {
  // `name` begins the error messages. Throws Error as the constructor of BpeTokenizer does.
  BpeState(BpeVocabulary taken, std::string_view name)
      : vocabulary(std::move(taken)),
        model(vocabulary.merges.size()),
        specials(added_tokens(vocabulary.special)) {
    require(vocabulary.tokens.size() <= kMostTokens && vocabulary.merges.size() <= kMostTokens,
            name, ": too many tokens or merges");
    const TokenIds ids = ids_by_bytes(vocabulary, name);
    check_special_tokens(ids, name);
    fill_byte_ids(ids, name);
    fill_merges(ids, name);
    const auto end =
        std::ranges::find(vocabulary.special, std::string(kEndOfTextName), &SpecialToken::name);
    require(end != vocabulary.special.end(), name, ": special token ", kEndOfTextName,
            " is missing");
    end_of_text = end->id;
  }

  BpeVocabulary vocabulary;
  BpeModel model;
  AddedTokenMatcher specials;
  std::int32_t end_of_text = -1;

 private:
  using TokenIds = TextMap<std::int32_t>;

  void check_special_tokens(const TokenIds& ids, std::string_view name) const {
    TextMap<std::int32_t> names;
    for (const auto& [token, id] : vocabulary.special) {
      require(!token.empty(), name, ": a special token has no name");
      require_utf8(token, concat_text(name, ": special token ", id));
      require(names.emplace(token, id).second, name, ": special token ", in_quotes(token),
              " appears twice");
      // Tokenizer files list special and other tokens by name in one object.
      const auto bytes = bytes_of_name(token);
      require(!bytes || !ids.contains(*bytes), name, ": special token ", in_quotes(token),
              " has the name of another token");
    }
  }

  void fill_byte_ids(const TokenIds& ids, std::string_view name) {
    for (std::size_t byte = 0; byte < model.byte_ids.size(); ++byte) {
      const char character = static_cast<char>(byte);
      const auto found = ids.find(std::string_view(&character, 1));
      require(found != ids.end(), name, ": no token for byte ", byte);
      model.byte_ids[byte] = found->second;
    }
  }

  void fill_merges(const TokenIds& ids, std::string_view name) {
    std::int32_t rank = 0;
    std::string joined;
    for (const BpeMerge& merge : vocabulary.merges) {
      for (const std::int32_t id : {merge.left, merge.right}) {
        const bool inside = id >= 0 && static_cast<std::size_t>(id) < vocabulary.tokens.size();
        require(inside && !vocabulary.tokens[static_cast<std::size_t>(id)].empty(), name,
                ": merge ", rank, ": id ", id, " is missing or a special token");
      }
      joined = vocabulary.tokens[static_cast<std::size_t>(merge.left)];
      joined += vocabulary.tokens[static_cast<std::size_t>(merge.right)];
      const auto result = ids.find(joined);
      if (result == ids.end()) {
        fail(name, ": merge ", rank, " gives ", in_quotes(byte_name(joined)),
             ", which is not a token");
      }
      // A repeated merge has its last rank, as in Hugging Face tokenizers.
      model.merges.at(merge) = {rank, result->second};
      ++rank;
    }
  }
};

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary, std::string_view name)
    : BpeTokenizer(std::make_shared<const BpeState>(std::move(vocabulary), name)) {}

BpeTokenizer::BpeTokenizer(std::shared_ptr<const BpeState> state)
    : Tokenizer(state->end_of_text), state_(std::move(state)) {}

Index BpeTokenizer::vocab_size() const {
  return static_cast<Index>(state_->vocabulary.tokens.size());
}

std::vector<std::int32_t> BpeTokenizer::encode_bytes(std::string_view bytes,
                                                     const EncodeOptions& options) const {
  const AlignedText whole{bytes};
  std::vector<TextSegment> segments{{bytes}};
  if (options.read_special) {
    segments = state_->specials.split(whole, options);
  }
  EncodeParts<TextSegment> parts(options);
  for (const TextSegment& segment : segments) {
    if (segment.id >= 0) {
      parts.add(segment);
      continue;
    }
    for (const std::string_view plain : split_between_pieces(segment.text, parts.part_bytes())) {
      parts.add({plain});
    }
  }
  const TokenTexts texts{state_->vocabulary.tokens};
  return parts.encode(state_->model, [&](const auto& items, BpeEncoder& encoder) {
    for (const auto& [text, id, name] : items) {
      const std::size_t known = encoder.ids().size();
      id >= 0 ? encoder.add_token(id) : encoder.add(text, bpe_piece_length);
      if (options.ranges != nullptr) {
        id >= 0
            ? options.ranges->push_back(range_of(whole.part(name)))
            : texts.append_ranges(whole.part(text), encoder.ids().subspan(known), *options.ranges);
      }
    }
  });
}

std::string BpeTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return state_->vocabulary.tokens[static_cast<std::size_t>(id)];
}

std::string_view BpeTokenizer::special_name(std::int32_t id) const {
  if (id < 0 || id >= vocab_size() ||
      !state_->vocabulary.tokens[static_cast<std::size_t>(id)].empty()) {
    return {};
  }
  const auto& specials = state_->vocabulary.special;
  const auto found = std::ranges::find(specials, id, &SpecialToken::id);
  return found == specials.end() ? std::string_view() : std::string_view(found->name);
}

const BpeVocabulary& BpeTokenizer::vocabulary() const { return state_->vocabulary; }

}  // namespace headlight
