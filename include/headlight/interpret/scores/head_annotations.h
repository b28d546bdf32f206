#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// A pair of token spans: the later one refers to the earlier one. Ends are exclusive.
struct TokenPair {
  Index earlier_begin = 0;
  Index earlier_end = 0;
  Index later_begin = 0;
  Index later_end = 0;
};

// The annotated pairs of one sequence, by the name of their relation: "quote", "bracket",
// "agreement", "name" and "phrase" of data/README.md, and any other name.
using SequencePairs = std::map<std::string, std::vector<TokenPair>, std::less<>>;

// Returns the pairs of a relation; none if the sequence has no such relation.
const std::vector<TokenPair>& pairs_of(const SequencePairs& pairs, std::string_view relation);

// Reads a file in the format of data/toy.annotations.jsonl and converts its spans to tokens.
// Document texts[i] is encoded by `tokenizer`, with `leading` tokens before each document. A span
// that begins or ends inside a token includes the whole token. A repeated phrase may be tokenized
// differently, so its pairs are runs of tokens with equal ends: token i of both spans ends at the
// same position of the phrase. Each span includes the token after the run.
//
// Every key beside "start" and "length" is the name of a relation. Throws Error, naming file and
// line, for other formats, for names and keys that are not allowed, and if the documents differ
// from the file's in number or length. `of_documents`: the texts are encoded without the end
// token's name at their ends, as documents are.
std::vector<SequencePairs> read_annotations(const std::filesystem::path& path,
                                            const std::vector<std::string>& texts,
                                            const Tokenizer& tokenizer, Index leading,
                                            bool of_documents = false);

}  // namespace headlight
