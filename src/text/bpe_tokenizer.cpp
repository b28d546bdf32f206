#include "headlight/text/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/text/bpe_pattern.h"
#include "kernels/parallel.h"
#include "text/bpe_encoder.h"
#include "text/bpe_model.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

constexpr std::size_t kMostTokens = std::numeric_limits<std::int32_t>::max();

// Returns the ids by bytes. A special token must have no bytes: it is found by its name only.
std::unordered_map<std::string_view, std::int32_t> ids_by_bytes(const BpeVocabulary& vocabulary,
                                                                std::string_view name) {
  std::vector<bool> special(vocabulary.tokens.size(), false);
  for (const auto& [token, id] : vocabulary.special) {
    const bool inside = id >= 0 && static_cast<std::size_t>(id) < special.size();
    require(inside, name, ": special token ", in_quotes(token), " has id ", id, " of ",
            special.size());
    require(!special[static_cast<std::size_t>(id)], name, ": two special tokens have id ", id);
    special[static_cast<std::size_t>(id)] = true;
  }
  std::unordered_map<std::string_view, std::int32_t> ids;
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

}  // namespace

// The checked vocabulary of a BpeTokenizer with its lookup tables.
struct BpeState {
  // `name` begins the error messages. Throws Error as the constructor of BpeTokenizer does.
  BpeState(BpeVocabulary taken, std::string_view name)
      : vocabulary(std::move(taken)),
        model(vocabulary.merges.size()),
        specials(vocabulary.special) {
    require(vocabulary.tokens.size() <= kMostTokens && vocabulary.merges.size() <= kMostTokens,
            name, ": too many tokens or merges");
    const TokenIds ids = ids_by_bytes(vocabulary, name);
    check_special_tokens(ids, name);
    fill_byte_ids(ids, name);
    fill_merges(ids, name);
    std::stable_sort(
        specials.begin(), specials.end(),
        [](const SpecialToken& a, const SpecialToken& b) { return a.name.size() > b.name.size(); });
    for (const SpecialToken& token : specials) {
      begins_special[static_cast<std::uint8_t>(token.name[0])] = true;
    }
    const auto end = std::find_if(specials.begin(), specials.end(), [](const SpecialToken& token) {
      return token.name == kEndOfTextName;
    });
    require(end != specials.end(), name, ": special token ", kEndOfTextName, " is missing");
    end_of_text = end->id;
  }

  BpeVocabulary vocabulary;
  BpeModel model;
  std::vector<SpecialToken> specials;      // longer names first
  std::array<bool, 256> begins_special{};  // whether a special token's name begins with this byte
  std::int32_t end_of_text = -1;

 private:
  using TokenIds = std::unordered_map<std::string_view, std::int32_t>;

  void check_special_tokens(const TokenIds& ids, std::string_view name) const {
    std::unordered_map<std::string_view, std::int32_t> names;
    for (const auto& [token, id] : specials) {
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
      require(found != ids.end(), name, ": byte ", byte, " is not a token");
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
                ": merge ", rank, ": id ", id, " is not a token of bytes");
      }
      joined = vocabulary.tokens[static_cast<std::size_t>(merge.left)];
      joined += vocabulary.tokens[static_cast<std::size_t>(merge.right)];
      const auto result = ids.find(joined);
      if (result == ids.end()) {
        fail(name, ": merge ", rank, " gives ", in_quotes(byte_name(joined)),
             ", which is not a token");
      }
      // A repeated merge has its last rank, as in Hugging Face tokenizers.
      model.merges.set(merge, {rank, result->second});
      ++rank;
    }
  }
};

namespace {

// Plain text followed by at most one special token.
struct BpeSegment {
  std::string_view text;
  std::int32_t special = -1;  // -1: none
};

// Segments for one thread to encode.
struct BpeTextPart {
  std::vector<BpeSegment> segments;
  std::size_t bytes = 0;  // total length of the segments' text
};

constexpr std::size_t kParallelPart = std::size_t{1} << 20;  // bytes

// First special token in a text. Without one, `begin` is the text's length.
struct FoundSpecial {
  std::size_t begin = 0;
  const SpecialToken* token = nullptr;
};

FoundSpecial find_special(const BpeState& state, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!state.begins_special[static_cast<std::uint8_t>(text[i])]) {
      continue;
    }
    for (const SpecialToken& token : state.specials) {
      if (text.substr(i).starts_with(token.name)) {
        return {i, &token};
      }
    }
  }
  return {text.size(), nullptr};
}

void add_segment(const BpeSegment& segment, std::size_t part_bytes,
                 std::vector<BpeTextPart>& parts) {
  if (parts.empty() || parts.back().bytes >= part_bytes) {
    parts.emplace_back();
  }
  parts.back().segments.push_back(segment);
  parts.back().bytes += segment.text.size();
}

// Cuts a text into parts that can be encoded alone: their joined ids equal those of the whole.
// Returns one part unless options.parallel.
std::vector<BpeTextPart> split_for_encoding(const BpeState& state, std::string_view text,
                                            const EncodeOptions& options) {
  const std::size_t part_bytes =
      options.parallel ? kParallelPart : std::numeric_limits<std::size_t>::max();
  std::vector<BpeTextPart> parts;
  while (!text.empty()) {
    const FoundSpecial found =
        options.read_special ? find_special(state, text) : FoundSpecial{text.size()};
    for (const std::string_view plain :
         split_between_pieces(text.substr(0, found.begin), part_bytes)) {
      add_segment({plain}, part_bytes, parts);
    }
    text.remove_prefix(found.begin);
    if (found.token != nullptr) {
      add_segment({{}, found.token->id}, part_bytes, parts);
      text.remove_prefix(found.token->name.size());
    }
  }
  return parts;
}

std::vector<std::int32_t> encode_part(const BpeState& state, const BpeTextPart& part) {
  BpeEncoder encoder(state.model, part.bytes);
  for (const BpeSegment& segment : part.segments) {
    encoder.add(segment.text, bpe_piece_length);
    if (segment.special >= 0) {
      encoder.add_token(segment.special);
    }
  }
  return encoder.take();
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary, std::string_view name)
    : BpeTokenizer(std::make_shared<const BpeState>(std::move(vocabulary), name)) {}

BpeTokenizer::BpeTokenizer(std::shared_ptr<const BpeState> state)
    : Tokenizer(state->end_of_text), state_(std::move(state)) {}

Index BpeTokenizer::vocab_size() const {
  return static_cast<Index>(state_->vocabulary.tokens.size());
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  return encode_bytes(text, {.read_special = reads_special()});
}

std::vector<std::int32_t> BpeTokenizer::encode_bytes(std::string_view bytes,
                                                     const EncodeOptions& options) const {
  const std::vector<BpeTextPart> parts = split_for_encoding(*state_, bytes, options);
  std::vector<std::vector<std::int32_t>> ids(parts.size());
  kernels::parallel_for(static_cast<Index>(parts.size()), 1, [&](Index begin, Index) {
    const auto part = static_cast<std::size_t>(begin);
    ids[part] = encode_part(*state_, parts[part]);
  });
  return joined_ids(std::move(ids));
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
  const auto& specials = state_->specials;
  const auto found = std::find_if(specials.begin(), specials.end(),
                                  [&](const SpecialToken& token) { return token.id == id; });
  return found == specials.end() ? std::string_view() : std::string_view(found->name);
}

const BpeVocabulary& BpeTokenizer::vocabulary() const { return state_->vocabulary; }

}  // namespace headlight
