#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// Passes on a text, piece by piece, up to the first stop text. Holds back text that may be the
// beginning of a stop text. The result does not depend on the division into pieces: the stop text
// that ends first counts; if several end together, the longest.
//
// Knuth, Morris and Pratt, "Fast Pattern Matching in Strings", 1977.
class StopFilter {
 public:
  // The stop texts must not be empty.
  explicit StopFilter(const std::vector<std::string>& stops);

  // Adds `piece` and returns the text that cannot belong to a stop text; "" after a stop text was
  // found.
  std::string push(std::string_view piece);
  // Returns the text held back.
  std::string finish();
  bool found() const { return !found_.empty(); }
  // Returns the stop text that was found; "" without one.
  const std::string& found_text() const { return found_; }

 private:
  struct Pattern {
    std::string text;
    // [i]: length of the longest proper prefix of text[0 ... i] that is also its suffix
    std::vector<std::size_t> borders;
    std::size_t matched = 0;  // length of the longest prefix that ends the text so far

    explicit Pattern(std::string pattern);
    void advance(char c);
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  std::string found_;
};

}  // namespace headlight
