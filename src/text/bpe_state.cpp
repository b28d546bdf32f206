#include "text/bpe_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

constexpr std::size_t kMostTokens = std::numeric_limits<std::int32_t>::max();

// The ids by bytes; a special token, which is found by its name alone, must have none.
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
            token.empty() ? " is empty" : " is special, but stands for bytes");
    const bool added = token.empty() || ids.emplace(token, id).second;
    if (!added) {
      fail(name, ": tokens ", ids[token], " and ", id, " are both ", in_quotes(byte_name(token)));
    }
  }
  return ids;
}

}  // namespace

BpeState::BpeState(BpeVocabulary taken, std::string_view name)
    : vocabulary(std::move(taken)), merges(vocabulary.merges.size()), specials(vocabulary.special) {
  require(vocabulary.tokens.size() <= kMostTokens && vocabulary.merges.size() <= kMostTokens, name,
          ": too many tokens or merges");
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

void BpeState::check_special_tokens(const TokenIds& ids, std::string_view name) const {
  std::unordered_map<std::string_view, std::int32_t> names;
  for (const auto& [token, id] : specials) {
    require(!token.empty(), name, ": a special token has no name");
    require_utf8(token, concat_text(name, ": special token ", id));
    require(names.emplace(token, id).second, name, ": special token ", in_quotes(token),
            " comes twice");
    // Tokenizer files name both kinds in one list.
    const auto bytes = bytes_of_name(token);
    require(!bytes || !ids.contains(*bytes), name, ": special token ", in_quotes(token),
            " has the name of another token");
  }
}

void BpeState::fill_byte_ids(const TokenIds& ids, std::string_view name) {
  for (std::size_t byte = 0; byte < byte_ids.size(); ++byte) {
    const char character = static_cast<char>(byte);
    const auto found = ids.find(std::string_view(&character, 1));
    require(found != ids.end(), name, ": byte ", byte, " is no token");
    byte_ids[byte] = found->second;
  }
}

void BpeState::fill_merges(const TokenIds& ids, std::string_view name) {
  std::int32_t rank = 0;
  std::string joined;
  for (const BpeMerge& merge : vocabulary.merges) {
    for (const std::int32_t id : {merge.left, merge.right}) {
      const bool inside = id >= 0 && static_cast<std::size_t>(id) < vocabulary.tokens.size();
      require(inside && !vocabulary.tokens[static_cast<std::size_t>(id)].empty(), name, ": merge ",
              rank, ": id ", id, " is no token of bytes");
    }
    joined = vocabulary.tokens[static_cast<std::size_t>(merge.left)];
    joined += vocabulary.tokens[static_cast<std::size_t>(merge.right)];
    const auto result = ids.find(joined);
    if (result == ids.end()) {
      fail(name, ": merge ", rank, " gives ", in_quotes(byte_name(joined)), ", which is no token");
    }
    require(merges.insert(merge, {rank, result->second}), name, ": merge ", rank, " comes twice");
    ++rank;
  }
}

}  // namespace headlight
