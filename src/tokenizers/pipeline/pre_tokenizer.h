#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/tokenizers/bpe_pattern.h"
#include "tokenizers/aligned_text.h"
#include "tokenizers/regex/regex.h"

namespace headlight {

// Treatment of the matches of a pattern that cuts a text.
enum class SplitBehavior {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous,  // adjacent matches form one piece
};

template <>
inline constexpr auto kChoices<SplitBehavior> = std::to_array<Choice<SplitBehavior>>(
    {{"Removed", SplitBehavior::removed},
     {"Isolated", SplitBehavior::isolated},
     {"MergedWithPrevious", SplitBehavior::merged_with_previous},
     {"MergedWithNext", SplitBehavior::merged_with_next},
     {"Contiguous", SplitBehavior::contiguous}});

// The pattern that cuts a text. Exactly one of the three fields is set.
struct SplitPattern {
  PieceLength known = nullptr;  // its matches cover the whole text
  std::optional<Regex> regex = {};
  std::string text = {};
};

// Condition for Metaspace to add its mark before a text.
enum class PrependScheme { first, never, always };  // first: only at the start of a text

template <>
inline constexpr auto kChoices<PrependScheme> =
    std::to_array<Choice<PrependScheme>>({{"first", PrependScheme::first},
                                          {"never", PrependScheme::never},
                                          {"always", PrependScheme::always}});

// A step of Hugging Face `tokenizers` between normalizer and model.
struct PreTokenizerStep {
  enum class Kind {
    split,        // cuts at a pattern
    digits,       // cuts at numbers
    punctuation,  // cuts at punctuation marks
    prefix,       // adds a blank before text that begins with none
    metaspace,    // replaces blanks by a mark
    bert,         // cuts at white space, which is dropped
  };
  Kind kind = Kind::split;
  SplitPattern pattern = {};
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;      // the text between matches counts as the matches
  bool individual = false;  // bert: each punctuation mark is a piece
  std::string mark = {};    // metaspace
  PrependScheme scheme = PrependScheme::always;
  bool cuts = true;  // metaspace: cuts before each mark
};

struct TextPiece {
  AlignedText text;
  bool first = false;  // at the start of the whole text
};

// New texts of the steps, to which pieces refer.
struct PieceStorage {
  bool tracks = false;  // keeps the offsets of bytes
  std::deque<MadeText> texts = {};
};

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps);

  // Returns the pieces of a part of a text, not yet cut by last(); none is empty. The storage must
  // outlive them.
  std::vector<TextPiece> split(TextPiece whole, PieceStorage& storage) const;
  // Returns the last step if it cuts the whole text into matches of a known pattern; else null.
  PieceLength last() const { return last_; }
  // True if a text may be cut by split_at_blanks() and its parts be split separately.
  bool splits_parts_alone() const { return steps_.empty() && last_ != nullptr; }
  bool empty() const { return steps_.empty() && last_ == nullptr; }

 private:
  std::vector<PreTokenizerStep> steps_;
  PieceLength last_ = nullptr;
};

}  // namespace headlight
