#include "text/bpe_encoder.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "headlight/tensor/error.h"
#include "headlight/text/bpe_pattern.h"

namespace headlight {
namespace {

constexpr std::size_t kMostSeen = std::size_t{1} << 15;
constexpr std::size_t kBytesPerSeen = 64;  // a short text is not worth a large table
constexpr std::size_t kBytesPerId = 3;     // a guess: room for the ids of most texts
constexpr std::size_t kLongestPiece = std::numeric_limits<std::int32_t>::max();

}  // namespace

BpeEncoder::BpeEncoder(const BpeState& state, std::string_view text)
    : state_(state),
      text_(text),
      seen_(std::min(kMostSeen, std::bit_ceil(text.size() / kBytesPerSeen + 1))) {
  ids_.reserve(text.size() / kBytesPerId + 1);
}

std::vector<std::int32_t> BpeEncoder::run() {
  for (std::string_view rest = text_; !rest.empty();) {
    const std::string_view piece = rest.substr(0, bpe_piece_length(rest));
    if (piece.size() == 1) {
      ids_.push_back(state_.byte_ids[static_cast<std::uint8_t>(piece[0])]);
    } else {
      append(piece);
    }
    rest.remove_prefix(piece.size());
  }
  return std::move(ids_);
}

BpeEncoder::Seen& BpeEncoder::place_of(std::string_view piece) {
  return seen_[XXH3_64bits(piece.data(), piece.size()) & (seen_.size() - 1)];
}

void BpeEncoder::append(std::string_view piece) {
  Seen& seen = place_of(piece);
  const std::size_t begin = ids_.size();
  if (text_.substr(seen.text_begin, seen.bytes) == piece) {
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
  seen = {static_cast<std::size_t>(piece.data() - text_.data()), begin,
          static_cast<std::uint32_t>(piece.size()), static_cast<std::uint32_t>(count)};
}

}  // namespace headlight
