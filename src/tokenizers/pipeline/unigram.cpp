#include "tokenizers/pipeline/unigram.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace headlight {
namespace {

constexpr double kUnknownPenalty = 10;

// Returns the length of the first character by its first byte, as SentencePiece does.
std::size_t character_bytes(std::string_view text) {
  constexpr std::string_view kLengths("\1\1\1\1\1\1\1\1\1\1\1\1\2\2\3\4", 16);
  const auto first = static_cast<unsigned char>(text[0]);
  return std::min(static_cast<std::size_t>(kLengths[first >> 4]), text.size());
}

}  // namespace

Unigram::Unigram(const std::vector<Piece>& pieces, const Fallback& fallback, bool is_exact)
    : fallback_(fallback), is_exact_(is_exact) {
  double lowest = std::numeric_limits<double>::max();
  double highest = std::numeric_limits<float>::min();
  for (const Piece& piece : pieces) {
    lowest = piece.user_defined ? lowest : std::min(lowest, rounded(piece.score));
    highest = piece.user_defined ? highest : std::max(highest, rounded(piece.score));
  }
  unknown_score_ = rounded(lowest - kUnknownPenalty);
  for (const Piece& piece : pieces) {
    const auto index = static_cast<std::size_t>(piece.id);
    scores_.resize(std::max(scores_.size(), index + 1));
    const double bonus = rounded(static_cast<double>(piece.text.size()) * highest);
    scores_[index] = piece.user_defined ? bonus - 0.1 : rounded(piece.score);
    trie_.add(piece.text, piece.id);
  }
}

double Unigram::rounded(double score) const {
  return is_exact_ ? score : static_cast<double>(static_cast<float>(score));
}

void Unigram::extend(std::string_view text, std::size_t begin, std::vector<Step>& best) const {
  const std::string_view rest = text.substr(begin);
  const std::size_t character = character_bytes(rest);
  const double before = best[begin].score;
  const auto offer = [&](std::size_t bytes, std::int32_t id, double score) {
    Step& step = best[begin + bytes];
    if (step.begin < 0 || score > step.score) {
      step = {id, rounded(score), static_cast<std::int64_t>(begin)};
    }
  };
  bool known = false;
  trie_.for_each_start(rest, [&](std::size_t bytes, std::int32_t id) {
    offer(bytes, id, scores_[static_cast<std::size_t>(id)] + before);
    known = known || bytes == character;
  });
  if (!known) {
    offer(character, -1, rounded(unknown_score_ + before));
  }
}

void Unigram::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::vector<Step> best(piece.size() + 1);
  for (std::size_t begin = 0; begin < piece.size(); begin += character_bytes(piece.substr(begin))) {
    extend(piece, begin, best);
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = piece.size(); end > 0; end = static_cast<std::size_t>(best[end].begin)) {
    ends.push_back(end);
  }
  const auto is_unknown_end = [&](std::size_t end) { return is_unknown(best[end]); };
  for (auto end = ends.rbegin(); end != ends.rend();) {
    const Step& first = best[*end];
    const auto next = std::max(std::find_if_not(end, ends.rend(), is_unknown_end), std::next(end));
    if (first.id >= 0 && next - end == 1) {
      ids.push_back(first.id);
    } else {
      const auto begin = static_cast<std::size_t>(first.begin);
      add_unknown(piece.substr(begin, *std::prev(next) - begin), ids);
    }
    end = next;
  }
}

bool Unigram::is_unknown(const Step& step) const {
  return step.id < 0 || (is_exact_ && step.id == fallback_.unknown);
}

void Unigram::add_unknown(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (!fallback_.has_bytes) {
    ids.push_back(fallback_.unknown);
    return;
  }
  for (const char byte : text) {
    ids.push_back(fallback_.bytes[static_cast<unsigned char>(byte)]);
  }
}

}  // namespace headlight
