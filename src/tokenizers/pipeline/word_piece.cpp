#include "tokenizers/pipeline/word_piece.h"

#include <algorithm>
#include <utility>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Returns the offsets [characters + 1] at which characters begin, and the end.
std::vector<std::size_t> character_bounds(std::string_view word) {
  std::vector<std::size_t> bounds{0};
  while (bounds.back() < word.size()) {
    const Utf8Character character = first_character(word.substr(bounds.back()));
    bounds.push_back(bounds.back() + static_cast<std::size_t>(character.length));
  }
  return bounds;
}

}  // namespace

WordPiece::WordPiece(const std::vector<std::string>& names, Options options)
    : options_(std::move(options)) {
  for (std::size_t id = 0; id < names.size(); ++id) {
    if (!names[id].empty()) {
      ids_.emplace(names[id], static_cast<std::int32_t>(id));
      longest_name_ = std::max(longest_name_, names[id].size());
    }
  }
}

void WordPiece::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::vector<std::size_t> bounds = character_bounds(word);
  const std::size_t first_id = ids.size();
  std::size_t begin = 0;  // character
  while (begin + 1 < bounds.size() && bounds.size() - 1 <= options_.longest_word) {
    const std::string start = begin == 0 ? "" : options_.mark;
    std::size_t end = bounds.size() - 1;
    auto found = ids_.end();
    for (; end > begin && found == ids_.end(); --end) {
      const std::size_t bytes = bounds[end] - bounds[begin];
      if (start.size() + bytes <= longest_name_) {
        found = ids_.find(start + std::string(word.substr(bounds[begin], bytes)));
      }
    }
    if (found == ids_.end()) {
      break;
    }
    ids.push_back(found->second);
    begin = end + 1;
  }
  if (begin + 1 < bounds.size()) {
    ids.resize(first_id);
    ids.push_back(options_.unknown);
  }
}

}  // namespace headlight
