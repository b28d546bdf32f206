#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// What two places of a text have to do with each other; see data/README.md.
enum class PairKind { quote, bracket, agreement, name, phrase };
template <>
inline constexpr auto kChoices<PairKind> =
    std::to_array<Choice<PairKind>>({{"quote", PairKind::quote},
                                     {"bracket", PairKind::bracket},
                                     {"agreement", PairKind::agreement},
                                     {"name", PairKind::name},
                                     {"phrase", PairKind::phrase}});
inline constexpr std::size_t kPairKinds = kChoices<PairKind>.size();

// Tokens of a sequence: a later span that belongs to an earlier one. Ends are one past the last.
struct TokenPair {
  Index earlier_begin = 0;
  Index earlier_end = 0;
  Index later_begin = 0;
  Index later_end = 0;
};

// The known pairs of one sequence, by kind.
struct SequencePairs {
  std::array<std::vector<TokenPair>, kPairKinds> kinds;

  std::vector<TokenPair>& of(PairKind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const std::vector<TokenPair>& of(PairKind kind) const {
    return kinds[static_cast<std::size_t>(kind)];
  }
};

// Reads a file in the format of data/toy.annotations.jsonl and counts its spans in tokens: for the
// document texts[i], encoded by `tokenizer`, after `leading` tokens that stand before every
// document. A span that begins or ends inside a token takes all of it. Of a phrase, which may be
// cut into other tokens when it is repeated, the pairs are runs in which token i of the later span
// ends at the same place of the phrase as token i of the earlier one, each with the token behind
// the run.
//
// Throws Error, naming file and line, for text in another format, and when the documents are not
// those of the file: another number, or another length.
std::vector<SequencePairs> read_annotations(const std::filesystem::path& path,
                                            const std::vector<std::string>& texts,
                                            const Tokenizer& tokenizer, Index leading);

}  // namespace headlight
