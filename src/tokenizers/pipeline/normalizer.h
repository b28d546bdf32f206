#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/aligned_text.h"
#include "tokenizers/pipeline/charsmap.h"
#include "tokenizers/pipeline/sentencepiece_normalizer.h"
#include "tokenizers/regex/regex.h"
#include "tokenizers/unicode/bert_characters.h"

namespace headlight {

// The character for a blank in SentencePiece's tokens.
inline constexpr std::string_view kMark = "\u2581";

// One rewriting step, applied to plain text before it is cut into pieces.
struct NormalizerStep {
  enum class Kind { nfc, prepend, replace, strip, charsmap, bert, sentencepiece };
  Kind kind = Kind::nfc;
  std::string from = {};            // replace: the text to find; not empty, unless there is a regex
  std::string to = {};              // replace and prepend: the new text
  std::optional<Regex> regex = {};  // replace: its matches; charsmap: characters with their marks
  bool left = false;                // strip: white space at the start of a text
  bool right = false;               // strip: at its end
  Charsmap rules = {};
  BertNormalizerSteps bert = {};
  std::shared_ptr<const SentencePieceNormalizer> sentencepiece = {};
};

class Normalizer {
 public:
  // Longest text that a step inserts, to limit the growth of a text.
  static constexpr std::size_t kLongestText = 16;  // bytes

  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  // True only if apply(text) equals `text`.
  bool keeps(std::string_view text) const;
  // Returns the normalized text; "" for "". `tracks`: with the offsets of its bytes. Throws Error
  // above 16 * (bytes of `text` + 16) bytes.
  MadeText apply(const AlignedText& text, bool tracks) const;
  // Returns an added token as it is in normalized text. SentencePiece keeps its tokens.
  std::string apply_to_token(std::string_view token) const;

 private:
  std::vector<NormalizerStep> steps_;
};

// Replaces every occurrence of `from`, which is not empty, from left to right.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace headlight
