#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "tokenizers/pair_map.h"

namespace headlight {

// Rank and result of the merge of one pair of tokens.
struct RankedMerge {
  std::int32_t rank = -1;  // -1: this pair does not merge
  std::int32_t result = -1;
};

// BPE model that splits one piece of text into tokens. The initial tokens are the piece's bytes or
// its characters; merges then join them.
struct BpeModel {
  explicit BpeModel(std::size_t merge_count) : merges(merge_count) { byte_ids.fill(-1); }

  PairMap<RankedMerge> merges;
  // Ids of the 256 single-byte tokens; -1: none. With `characters`, a character without a token
  // falls back to its bytes.
  std::array<std::int32_t, 256> byte_ids{};
  bool characters = false;
  bool every_byte = true;     // none of byte_ids is -1
  bool whole_pieces = false;  // a piece that is itself a token is not split, whatever its merges
  std::int32_t unknown = -1;  // id for text without a token; -1: such text is dropped
  bool fuse_unknown = false;  // adjacent unknown texts give one unknown id
  // Token ids by text. Filled only for `characters` and `whole_pieces`.
  TextMap<std::int32_t> ids = {};
};

// Appends the token ids of one piece to `ids`.
void append_tokens(const BpeModel& model, std::string_view piece, std::vector<std::int32_t>& ids);

}  // namespace headlight
