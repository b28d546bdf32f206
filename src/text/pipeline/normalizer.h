#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// What is done to plain text before it is cut into pieces.
struct NormalizerStep {
  enum class Kind { nfc, prepend, replace };
  Kind kind = Kind::nfc;
  std::string from = {};  // replace: every occurrence, none of them empty
  std::string to = {};    // replace and prepend
};

class Normalizer {
 public:
  // A text that steps put in is at most so long, so that none can make a text endless.
  static constexpr std::size_t kLongestText = 16;  // bytes

  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  // True when it surely does nothing to this text.
  bool keeps(std::string_view text) const;
  // Nothing becomes of an empty text. Throws Error when the text grows beyond all measure.
  std::string apply(std::string_view text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

// Every occurrence of `from`, which is not empty, replaced, from the left.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace headlight
