#include "headlight/text/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/text/bpe_pattern.h"
#include "kernels/parallel.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

// A merge, found by its pair.
struct RankedMerge {
  std::int32_t rank = -1;  // -1: this pair does not merge
  std::int32_t result = -1;
};

// The merges of a vocabulary by their pairs: open addressing, at most half full.
class MergeTable {
 public:
  explicit MergeTable(std::size_t count) : entries_(std::bit_ceil(2 * count + 2)) {
    shift_ = 64 - std::countr_zero(entries_.size());
  }

  // False when the pair is there already.
  bool insert(BpeMerge pair, RankedMerge merge) {
    Entry& entry = entries_[slot_of(pair.left, pair.right)];
    const bool is_new = entry.merge.rank < 0;
    if (is_new) {
      entry = {pair, merge};
    }
    return is_new;
  }

  RankedMerge find(std::int32_t left, std::int32_t right) const {
    return entries_[slot_of(left, right)].merge;
  }

 private:
  struct Entry {
    BpeMerge pair;
    RankedMerge merge;
  };

  std::size_t slot_of(std::int32_t left, std::int32_t right) const {
    const auto key =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    // Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio.
    const std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15U;
    std::size_t slot = static_cast<std::size_t>((mixed ^ mixed << 32) >> shift_);
    while (entries_[slot].merge.rank >= 0 &&
           (entries_[slot].pair.left != left || entries_[slot].pair.right != right)) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return slot;
  }

  std::vector<Entry> entries_;  // a power of two
  int shift_ = 0;
};

// A longer piece keeps its neighbours in a heap. Below, scanning all of them for the lowest rank is
// faster, though it takes quadratic time.
constexpr std::size_t kScanned = 64;

constexpr std::uint32_t kNoMerge = std::numeric_limits<std::uint32_t>::max();

// As unsigned number: "no merge" is above every rank.
std::uint32_t rank_of(RankedMerge merge) { return static_cast<std::uint32_t>(merge.rank); }

std::size_t merge_by_scanning(const MergeTable& merges, std::span<std::int32_t> ids) {
  std::array<RankedMerge, kScanned> next;  // of token i with its right neighbour
  std::size_t count = ids.size();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    next[i] = merges.find(ids[i], ids[i + 1]);
  }
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      best = rank_of(next[i]) < rank_of(next[best]) ? i : best;
    }
    if (rank_of(next[best]) == kNoMerge) {
      break;
    }
    ids[best] = next[best].result;
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      ids[i] = ids[i + 1];
      next[i] = next[i + 1];
    }
    if (best + 1 < count) {
      next[best] = merges.find(ids[best], ids[best + 1]);
    }
    if (best > 0) {
      next[best - 1] = merges.find(ids[best - 1], ids[best]);
    }
  }
  return count;
}

// The tokens as a list that is linked by positions, and the merges that are possible in a heap.
class LongPiece {
 public:
  LongPiece(const MergeTable& merges, std::span<std::int32_t> ids)
      : merges_(merges), ids_(ids), next_(ids.size()), previous_(ids.size()) {
    std::vector<Candidate> candidates;
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      next_[i] = i + 1;
      previous_[i] = i - 1;
      const RankedMerge merge = i + 1 < ids.size() ? merge_at(i) : RankedMerge{};
      if (merge.rank >= 0) {
        candidates.push_back(candidate(merge, i));
      }
    }
    heap_ = Heap(std::greater<>(), std::move(candidates));
  }

  std::size_t run() {
    while (!heap_.empty()) {
      const auto position = static_cast<std::uint32_t>(heap_.top());
      const auto rank = static_cast<std::uint32_t>(heap_.top() >> 32);
      heap_.pop();
      // A candidate is stale when one of its tokens has since become part of another.
      const bool alive = ids_[position] >= 0 && next_[position] < ids_.size();
      const RankedMerge merge = alive ? merge_at(position) : RankedMerge{};
      if (rank_of(merge) == rank) {
        apply(merge, position);
      }
    }
    const auto end = std::remove(ids_.begin(), ids_.end(), kGone);
    return static_cast<std::size_t>(end - ids_.begin());
  }

 private:
  using Candidate = std::uint64_t;  // rank, then position: the order in which they are taken
  using Heap = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;
  static constexpr std::int32_t kGone = -1;

  static Candidate candidate(RankedMerge merge, std::uint32_t position) {
    return Candidate{rank_of(merge)} << 32 | position;
  }

  RankedMerge merge_at(std::uint32_t position) const {
    return merges_.find(ids_[position], ids_[next_[position]]);
  }

  void apply(RankedMerge merge, std::uint32_t position) {
    const std::uint32_t gone = next_[position];
    ids_[position] = merge.result;
    ids_[gone] = kGone;
    next_[position] = next_[gone];
    if (next_[position] < ids_.size()) {
      previous_[next_[position]] = position;
      offer(position);
    }
    if (previous_[position] < ids_.size()) {
      offer(previous_[position]);
    }
  }

  void offer(std::uint32_t position) {
    const RankedMerge merge = merge_at(position);
    if (merge.rank >= 0) {
      heap_.push(candidate(merge, position));
    }
  }

  const MergeTable& merges_;
  std::span<std::int32_t> ids_;          // kGone where a token became part of its left neighbour
  std::vector<std::uint32_t> next_;      // ids_.size() at the end
  std::vector<std::uint32_t> previous_;  // the largest number at the beginning
  Heap heap_;
};

// Replaces the tokens `ids` of one piece by what is left when no more neighbours merge, and returns
// how many those are; they stand at the front. Time n log n for n tokens.
std::size_t merge_tokens(const MergeTable& merges, std::span<std::int32_t> ids) {
  return ids.size() <= kScanned ? merge_by_scanning(merges, ids) : LongPiece(merges, ids).run();
}

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

// What a BpeTokenizer is built from, checked, and what it looks up.
struct BpeState {
  // Throws what the constructor of BpeTokenizer throws.
  BpeState(BpeVocabulary taken, std::string_view name)
      : vocabulary(std::move(taken)),
        merges(vocabulary.merges.size()),
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
  MergeTable merges;
  std::array<std::int32_t, 256> byte_ids{};
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
              " comes twice");
      // Tokenizer files name both kinds in one list.
      const auto bytes = bytes_of_name(token);
      require(!bytes || !ids.contains(*bytes), name, ": special token ", in_quotes(token),
              " has the name of another token");
    }
  }

  void fill_byte_ids(const TokenIds& ids, std::string_view name) {
    for (std::size_t byte = 0; byte < byte_ids.size(); ++byte) {
      const char character = static_cast<char>(byte);
      const auto found = ids.find(std::string_view(&character, 1));
      require(found != ids.end(), name, ": byte ", byte, " is no token");
      byte_ids[byte] = found->second;
    }
  }

  void fill_merges(const TokenIds& ids, std::string_view name) {
    std::int32_t rank = 0;
    std::string joined;
    for (const BpeMerge& merge : vocabulary.merges) {
      for (const std::int32_t id : {merge.left, merge.right}) {
        const bool inside = id >= 0 && static_cast<std::size_t>(id) < vocabulary.tokens.size();
        require(inside && !vocabulary.tokens[static_cast<std::size_t>(id)].empty(), name,
                ": merge ", rank, ": id ", id, " is no token of bytes");
      }
      joined = vocabulary.tokens[static_cast<std::size_t>(merge.left)];
      joined += vocabulary.tokens[static_cast<std::size_t>(merge.right)];
      const auto result = ids.find(joined);
      if (result == ids.end()) {
        fail(name, ": merge ", rank, " gives ", in_quotes(byte_name(joined)),
             ", which is no token");
      }
      require(merges.insert(merge, {rank, result->second}), name, ": merge ", rank, " comes twice");
      ++rank;
    }
  }
};

namespace {

// Plain text and the special token behind it.
struct BpeSegment {
  std::string_view text;
  std::int32_t special = -1;  // -1: none
};

// Segments that one thread encodes.
struct BpeTextPart {
  std::vector<BpeSegment> segments;
  std::size_t bytes = 0;  // of their text
};

constexpr std::size_t kParallelPart = std::size_t{1} << 20;  // bytes

// A special token in a text, or the text's end.
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

// Cuts a text so that the ids of its parts, joined, are those of the whole; in one part unless
// options.parallel.
std::vector<BpeTextPart> split_for_encoding(const BpeState& state, std::string_view text,
                                            const BpeEncodeOptions& options) {
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

constexpr std::size_t kMostSeen = std::size_t{1} << 15;
constexpr std::size_t kBytesPerSeen = 64;  // a short text is not worth a large table
constexpr std::size_t kBytesPerId = 3;     // a guess: room for the ids of most texts
constexpr std::size_t kLongestPiece = std::numeric_limits<std::int32_t>::max();

// Multiplies eight bytes at a time into the sum. Pieces with equal hashes only push each other out.
std::uint64_t hash_of(std::string_view piece) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;  // 2^64 by the golden ratio
  std::uint64_t hash = piece.size();
  while (!piece.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(piece.size(), sizeof word);
    std::memcpy(&word, piece.data(), bytes);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;  // the upper bits depend on all of the word
    piece.remove_prefix(bytes);
  }
  return hash;
}

// Encodes parts of one text, one after the other. Words come again and again, so it remembers where
// it has seen the latest pieces and copies their ids from its own output: memory that does not grow
// with the text, and nothing that threads would share.
class BpeEncoder {
 public:
  // For about so many bytes. The state and the text must outlive the encoder.
  BpeEncoder(const BpeState& state, std::size_t bytes)
      : state_(state), seen_(std::min(kMostSeen, std::bit_ceil(bytes / kBytesPerSeen + 1))) {
    ids_.reserve(bytes / kBytesPerId + 1);
  }

  // Adds the ids of a text, whose pieces are those that it has alone.
  void add(std::string_view text) {
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, bpe_piece_length(text));
      if (piece.size() == 1) {
        ids_.push_back(state_.byte_ids[static_cast<std::uint8_t>(piece[0])]);
      } else {
        add_piece(piece);
      }
      text.remove_prefix(piece.size());
    }
  }

  void add_token(std::int32_t id) { ids_.push_back(id); }
  // The ids of all that was added.
  std::vector<std::int32_t> take() { return std::move(ids_); }

 private:
  // A piece that was encoded before.
  struct Seen {
    const char* text = nullptr;
    std::size_t ids_begin = 0;
    std::uint32_t bytes = 0;  // 0: nothing
    std::uint32_t ids = 0;
  };

  void add_piece(std::string_view piece) {
    Seen& seen = seen_[hash_of(piece) & (seen_.size() - 1)];
    const std::size_t begin = ids_.size();
    if (std::string_view(seen.text, seen.bytes) == piece) {
      ids_.resize(begin + seen.ids);
      std::copy_n(ids_.data() + seen.ids_begin, seen.ids, ids_.data() + begin);
      return;
    }
    require(piece.size() <= kLongestPiece, "[encode] a piece of ", piece.size(),
            " bytes without a break is too long, expected at most ", kLongestPiece);
    ids_.resize(begin + piece.size());
    std::transform(piece.begin(), piece.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin),
                   [&](char byte) { return state_.byte_ids[static_cast<std::uint8_t>(byte)]; });
    const std::size_t count = merge_tokens(state_.merges, std::span(ids_).subspan(begin));
    ids_.resize(begin + count);
    seen = {piece.data(), begin, static_cast<std::uint32_t>(piece.size()),
            static_cast<std::uint32_t>(count)};
  }

  const BpeState& state_;
  std::vector<Seen> seen_;  // by hash; a power of two
  std::vector<std::int32_t> ids_;
};

// Frees each part once it is copied.
std::vector<std::int32_t> joined(std::vector<std::vector<std::int32_t>> parts) {
  std::size_t size = 0;
  for (const auto& part : parts) {
    size += part.size();
  }
  std::vector<std::int32_t> result;
  result.reserve(size);
  for (auto& part : parts) {
    result.insert(result.end(), part.begin(), part.end());
    part = {};
  }
  return result;
}

std::vector<std::int32_t> encode_part(const BpeState& state, const BpeTextPart& part) {
  BpeEncoder encoder(state, part.bytes);
  for (const BpeSegment& segment : part.segments) {
    encoder.add(segment.text);
    if (segment.special >= 0) {
      encoder.add_token(segment.special);
    }
  }
  return encoder.take();
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary, std::string_view name)
    : state_(std::make_shared<const BpeState>(std::move(vocabulary), name)) {}

Index BpeTokenizer::vocab_size() const {
  return static_cast<Index>(state_->vocabulary.tokens.size());
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  require_utf8(text, "[encode] text");
  return encode_bytes(text);
}

std::vector<std::int32_t> BpeTokenizer::encode_parallel(std::string_view text) const {
  require_utf8(text, "[encode_parallel] text");
  return encode_bytes(text, {.parallel = true});
}

std::vector<std::int32_t> BpeTokenizer::encode_with_special(std::string_view text) const {
  require_utf8(text, "[encode_with_special] text");
  return encode_bytes(text, {.read_special = true});
}

std::vector<std::int32_t> BpeTokenizer::encode_bytes(std::string_view bytes,
                                                     const BpeEncodeOptions& options) const {
  const std::vector<BpeTextPart> parts = split_for_encoding(*state_, bytes, options);
  std::vector<std::vector<std::int32_t>> ids(parts.size());
  kernels::parallel_for(static_cast<Index>(parts.size()), 1, [&](Index begin, Index) {
    const auto part = static_cast<std::size_t>(begin);
    ids[part] = encode_part(*state_, parts[part]);
  });
  return ids.size() == 1 ? std::move(ids[0]) : joined(std::move(ids));
}

std::string BpeTokenizer::token_bytes(std::int32_t id) const {
  require_id(id);
  return state_->vocabulary.tokens[static_cast<std::size_t>(id)];
}

std::int32_t BpeTokenizer::end_of_text() const { return state_->end_of_text; }

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
