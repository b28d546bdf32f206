#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Relation between two spans of a text; see data/README.md.
enum class PairKind { quote, bracket, agreement, name, phrase };
template <>
inline constexpr auto kChoices<PairKind> =
    std::to_array<Choice<PairKind>>({{"quote", PairKind::quote},
                                     {"bracket", PairKind::bracket},
                                     {"agreement", PairKind::agreement},
                                     {"name", PairKind::name},
                                     {"phrase", PairKind::phrase}});
inline constexpr std::size_t kPairKinds = kChoices<PairKind>.size();

// A pair of token spans: the later one refers to the earlier one. Ends are exclusive.
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

// Reads a file in the format of data/toy.annotations.jsonl and converts its spans to tokens.
// Document texts[i] is encoded by `tokenizer`, with `leading` tokens before each document. A span
// that begins or ends inside a token includes the whole token. A repeated phrase may be tokenized
// differently, so its pairs are runs of tokens with equal ends: token i of both spans ends at the
// same place of the phrase. Each span includes the token after the run.
//
// Throws Error, naming file and line, for other formats and if the documents differ from the file's
// in number or length.
std::vector<SequencePairs> read_annotations(const std::filesystem::path& path,
                                            const std::vector<std::string>& texts,
                                            const Tokenizer& tokenizer, Index leading);

}  // namespace headlight
