#include "text/bpe_merger.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <queue>

namespace headlight {
namespace {

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

}  // namespace

MergeTable::MergeTable(std::size_t count) : entries_(std::bit_ceil(2 * count + 2)) {
  shift_ = 64 - std::countr_zero(entries_.size());
}

std::size_t MergeTable::slot_of(std::int32_t left, std::int32_t right) const {
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

bool MergeTable::insert(BpeMerge pair, RankedMerge merge) {
  Entry& entry = entries_[slot_of(pair.left, pair.right)];
  const bool is_new = entry.merge.rank < 0;
  if (is_new) {
    entry = {pair, merge};
  }
  return is_new;
}

RankedMerge MergeTable::find(std::int32_t left, std::int32_t right) const {
  return entries_[slot_of(left, right)].merge;
}

std::size_t merge_tokens(const MergeTable& merges, std::span<std::int32_t> ids) {
  return ids.size() <= kScanned ? merge_by_scanning(merges, ids) : LongPiece(merges, ids).run();
}

}  // namespace headlight
