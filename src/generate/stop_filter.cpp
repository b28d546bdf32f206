#include "generate/stop_filter.h"

#include <algorithm>
#include <utility>

namespace headlight {

StopFilter::Pattern::Pattern(std::string pattern) : text(std::move(pattern)), borders(text.size()) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    advance(text[i]);
    borders[i] = matched;
  }
  matched = 0;
}

// Must not be called after a complete match, where the text ends.
void StopFilter::Pattern::advance(char c) {
  while (matched > 0 && text[matched] != c) {
    matched = borders[matched - 1];
  }
  if (text[matched] == c) {
    ++matched;
  }
}

StopFilter::StopFilter(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    patterns_.emplace_back(stop);
  }
}

std::string StopFilter::push(std::string_view piece) {
  for (std::size_t i = 0; i < piece.size() && found_.empty(); ++i) {
    held_ += piece[i];
    for (Pattern& pattern : patterns_) {
      pattern.advance(piece[i]);
      if (pattern.matched == pattern.text.size() && pattern.matched > found_.size()) {
        found_ = pattern.text;
      }
    }
    held_.resize(held_.size() - found_.size());
  }
  std::size_t undecided = 0;  // bytes at the end that may belong to a stop text
  for (const Pattern& pattern : patterns_) {
    undecided = std::max(undecided, found() ? 0 : pattern.matched);
  }
  std::string certain = held_.substr(0, held_.size() - undecided);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopFilter::finish() { return std::exchange(held_, std::string()); }

}  // namespace headlight
