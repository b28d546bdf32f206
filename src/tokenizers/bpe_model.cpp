#include "tokenizers/bpe_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Longest piece, in tokens, that is merged by scanning. Scanning takes quadratic time but is faster
// for short pieces; longer pieces use a heap.
constexpr std::size_t kScanned = 64;

constexpr std::uint32_t kNoMerge = std::numeric_limits<std::uint32_t>::max();

// Returns the rank as an unsigned number, so that "no merge" is above every rank.
std::uint32_t rank_of(RankedMerge merge) { return static_cast<std::uint32_t>(merge.rank); }

std::size_t merge_by_scanning(const PairMap<RankedMerge>& merges, std::span<std::int32_t> ids) {
  std::array<RankedMerge, kScanned> next;  // next[i]: merge of token i with its right neighbour
  std::size_t count = ids.size();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    next[i] = merges.find({ids[i], ids[i + 1]});
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
      next[best] = merges.find({ids[best], ids[best + 1]});
    }
    if (best > 0) {
      next[best - 1] = merges.find({ids[best - 1], ids[best]});
    }
  }
  return count;
}

// Merges a long piece: a linked list of tokens (by position) and a heap of possible merges.
class LongPiece {
 public:
  LongPiece(const PairMap<RankedMerge>& merges, std::span<std::int32_t> ids)
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
      // A candidate is stale if one of its tokens has been merged since.
      const bool alive = ids_[position] >= 0 && next_[position] < ids_.size();
      const RankedMerge merge = alive ? merge_at(position) : RankedMerge{};
      if (rank_of(merge) == rank) {
        apply(merge, position);
      }
    }
    const auto end = std::remove(ids_.begin(), ids_.end(), kRemoved);
    return static_cast<std::size_t>(end - ids_.begin());
  }

 private:
  using Candidate = std::uint64_t;  // rank, then position: the order of the merges
  using Heap = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;
  static constexpr std::int32_t kRemoved = -1;

  static Candidate candidate(RankedMerge merge, std::uint32_t position) {
    return Candidate{rank_of(merge)} << 32 | position;
  }

  RankedMerge merge_at(std::uint32_t position) const {
    return merges_.find({ids_[position], ids_[next_[position]]});
  }

  void apply(RankedMerge merge, std::uint32_t position) {
    const std::uint32_t removed = next_[position];
    ids_[position] = merge.result;
    ids_[removed] = kRemoved;
    next_[position] = next_[removed];
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

  const PairMap<RankedMerge>& merges_;
  std::span<std::int32_t> ids_;          // kGone where a token was merged into its left neighbour
  std::vector<std::uint32_t> next_;      // ids_.size() at the end
  std::vector<std::uint32_t> previous_;  // the largest number (0 - 1) at the beginning
  Heap heap_;
};

// Merges the tokens `ids` of one piece in place until no neighbours merge. Returns the number of
// tokens left; they are at the front. Time O(n log n) for n tokens.
std::size_t merge_tokens(const PairMap<RankedMerge>& merges, std::span<std::int32_t> ids) {
  return ids.size() <= kScanned ? merge_by_scanning(merges, ids) : LongPiece(merges, ids).run();
}

// Appends initial tokens, with the unknown token for text that has none.
class FirstTokens {
 public:
  FirstTokens(const BpeModel& model, std::vector<std::int32_t>& ids) : model_(model), ids_(ids) {}

  void add(std::int32_t id) {
    fusing_ = false;
    ids_.push_back(id);
  }
  void add_unknown() {
    if (model_.unknown >= 0 && !(fusing_ && model_.fuse_unknown)) {
      ids_.push_back(model_.unknown);
      fusing_ = true;
    }
  }
  // Appends the byte tokens of a character that has no token of its own.
  void add_bytes(std::string_view character) {
    const auto id_of = [&](char byte) { return model_.byte_ids[static_cast<std::uint8_t>(byte)]; };
    if (std::any_of(character.begin(), character.end(), [&](char c) { return id_of(c) < 0; })) {
      add_unknown();
      return;
    }
    for (const char byte : character) {
      add(id_of(byte));
    }
  }

 private:
  const BpeModel& model_;
  std::vector<std::int32_t>& ids_;
  bool fusing_ = false;  // the last token was unknown
};

void append_characters(const BpeModel& model, std::string_view piece,
                       std::vector<std::int32_t>& ids) {
  FirstTokens tokens(model, ids);
  while (!piece.empty()) {
    const auto length = static_cast<std::size_t>(first_character(piece).length);
    const std::string_view character = piece.substr(0, length);
    const auto found = model.ids.find(character);
    found == model.ids.end() ? tokens.add_bytes(character) : tokens.add(found->second);
    piece.remove_prefix(length);
  }
}

void append_bytes(const BpeModel& model, std::string_view piece, std::vector<std::int32_t>& ids) {
  if (!model.every_byte) {
    FirstTokens tokens(model, ids);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      tokens.add_bytes(piece.substr(i, 1));
    }
    return;
  }
  const std::size_t begin = ids.size();
  ids.resize(begin + piece.size());
  std::transform(piece.begin(), piece.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                 [&](char byte) { return model.byte_ids[static_cast<std::uint8_t>(byte)]; });
}

}  // namespace

void append_tokens(const BpeModel& model, std::string_view piece, std::vector<std::int32_t>& ids) {
  if (model.whole_pieces) {
    const auto found = model.ids.find(piece);
    if (found != model.ids.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  const std::size_t begin = ids.size();
  model.characters ? append_characters(model, piece, ids) : append_bytes(model, piece, ids);
  ids.resize(begin + merge_tokens(model.merges, std::span(ids).subspan(begin)));
}

}  // namespace headlight
