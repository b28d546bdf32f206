#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// Passes a text on, piece by piece, up to the first stop text. What could still turn out to be the
// beginning of one is held back. Where the text is cut into pieces makes no difference: the stop
// text that ends first counts, and of several that end together the longest.
//
// Knuth, Morris and Pratt, "Fast Pattern Matching in Strings", 1977.
class StopFilter {
 public:
  // The stop texts must not be empty.
  explicit StopFilter(const std::vector<std::string>& stops);

  // The text that is certain not to belong to a stop text once `piece` has been added; "" after one
  // has been found.
  std::string push(std::string_view piece);
  // What was held back.
  std::string finish();
  bool found() const { return found_; }

 private:
  struct Pattern {
    std::string text;
    // [i]: length of the longest proper prefix of text[0 ... i] that is also its suffix
    std::vector<std::size_t> borders;
    std::size_t matched = 0;  // length of the prefix that the text so far ends with

    explicit Pattern(std::string pattern);
    void advance(char c);
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  bool found_ = false;
};

}  // namespace headlight
