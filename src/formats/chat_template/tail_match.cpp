#include "formats/chat_template/tail_match.h"

#include <algorithm>
#include <string>
#include <vector>

namespace headlight {
namespace {

// Returns for each position how many bytes from there equal the beginning of the text; 0 for the
// first position.
std::vector<std::size_t> lengths_of_beginnings(std::string_view text) {
  std::vector<std::size_t> lengths(text.size());
  std::size_t begin = 0;  // [begin, end) equals the beginning, and no earlier one ends later
  std::size_t end = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::size_t length = i < end ? std::min(end - i, lengths[i - begin]) : 0;
    while (i + length < text.size() && text[length] == text[i + length]) {
      ++length;
    }
    if (i + length > end) {
      begin = i;
      end = i + length;
    }
    lengths[i] = length;
  }
  return lengths;
}

}  // namespace

std::size_t length_to_tail(std::string_view text, std::string_view answer) {
  std::string reversed(answer.rbegin(), answer.rend());
  reversed.append(text.rbegin(), text.rend());
  const std::vector<std::size_t> lengths = lengths_of_beginnings(reversed);
  std::size_t best = 0;
  std::size_t most = 0;
  for (std::size_t length = 1; length <= text.size(); ++length) {
    const std::size_t same = std::min(lengths[reversed.size() - length], answer.size());
    if (same > most) {
      most = same;
      best = length;
    }
  }
  return best;
}

}  // namespace headlight
