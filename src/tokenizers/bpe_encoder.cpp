#include "tokenizers/bpe_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kMostSeen = std::size_t{1} << 15;
constexpr std::size_t kBytesPerSeen = 64;  // short texts need no large table
constexpr std::size_t kLongestPiece = std::numeric_limits<std::int32_t>::max();

// Hashes 8 bytes at a time. Pieces with equal hashes only evict each other.
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

}  // namespace

std::size_t BpeEncoder::table_size(std::size_t bytes) {
  return std::min(kMostSeen, std::bit_ceil(bytes / kBytesPerSeen + 1));
}

void BpeEncoder::add_piece(std::string_view piece) {
  Seen& seen = seen_[hash_of(piece) & (seen_.size() - 1)];
  const std::size_t begin = ids_.size();
  if (std::string_view(seen.text, seen.bytes) == piece) {
    ids_.resize(begin + seen.ids);
    std::copy_n(ids_.data() + seen.ids_begin, seen.ids, ids_.data() + begin);
    return;
  }
  require(piece.size() <= kLongestPiece, "[encode] a piece of ", piece.size(),
          " bytes without a break is too long, expected at most ", kLongestPiece);
  append_tokens(model_, piece, ids_);
  const std::size_t count = ids_.size() - begin;
  seen = {piece.data(), begin, static_cast<std::uint32_t>(piece.size()),
          static_cast<std::uint32_t>(count)};
}

std::vector<std::int32_t> joined_ids(std::vector<std::vector<std::int32_t>> parts) {
  if (parts.size() == 1) {
    return std::move(parts[0]);
  }
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

}  // namespace headlight
