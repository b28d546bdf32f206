#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/text/bpe_pattern.h"
#include "text/pipeline/regex/regex.h"

namespace headlight {

// What becomes of the matches of a pattern that cuts a text.
enum class SplitBehavior {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous,  // matches side by side are one piece
};

template <>
inline constexpr auto kChoices<SplitBehavior> = std::to_array<Choice<SplitBehavior>>(
    {{"Removed", SplitBehavior::removed},
     {"Isolated", SplitBehavior::isolated},
     {"MergedWithPrevious", SplitBehavior::merged_with_previous},
     {"MergedWithNext", SplitBehavior::merged_with_next},
     {"Contiguous", SplitBehavior::contiguous}});

// What a text is cut by: one of the three.
struct SplitPattern {
  PieceLength known = nullptr;  // covers the whole text
  std::optional<Regex> regex = {};
  std::string text = {};
};

// Whether Metaspace puts its mark before a text.
enum class PrependScheme { first, never, always };  // first: of a text, not behind added tokens

template <>
inline constexpr auto kChoices<PrependScheme> =
    std::to_array<Choice<PrependScheme>>({{"first", PrependScheme::first},
                                          {"never", PrependScheme::never},
                                          {"always", PrependScheme::always}});

// A step of Hugging Face `tokenizers` between normalizer and model.
struct PreTokenizerStep {
  enum class Kind {
    split,      // by a pattern
    digits,     // numbers from other text
    prefix,     // a blank before text that has none
    metaspace,  // a mark in the place of blanks
  };
  Kind kind = Kind::split;
  SplitPattern pattern = {};
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;      // what lies between matches counts as matches
  bool individual = false;  // digits: each alone
  std::string mark = {};    // metaspace
  PrependScheme scheme = PrependScheme::always;
  bool cuts = true;  // metaspace: before each mark
};

struct TextPiece {
  std::string_view text;
  bool first = false;  // begins the whole text
};

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps);

  // The pieces of a part of a text, before last() cuts them further; none is empty. Text that steps
  // make is put into `storage`.
  std::vector<TextPiece> split(TextPiece whole, std::deque<std::string>& storage) const;
  // The last step, if it cuts everything into the matches of a known pattern.
  PieceLength last() const { return last_; }
  // True when a text may be cut where split_at_blanks() cuts and its parts be split alone.
  bool splits_parts_alone() const { return steps_.empty() && last_ != nullptr; }
  bool empty() const { return steps_.empty() && last_ == nullptr; }

 private:
  std::vector<PreTokenizerStep> steps_;
  PieceLength last_ = nullptr;
};

}  // namespace headlight
