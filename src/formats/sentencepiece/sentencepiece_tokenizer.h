#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Settings in the files beside a tokenizer.model.
struct SentencePieceSettings {
  Json added = Json::array();            // more tokens: entries of added_tokens
  std::string end_name = {};             // the end-of-text token; "": the file's own
  std::optional<bool> prepends = {};     // the begin token comes before every text
  std::optional<bool> appends_end = {};  // not supported: gives a warning
};

// Returns the tokenizer in the bytes of a tokenizer.model, unigram or BPE, with the ids of
// SentencePiece. Differences: names of control tokens in a text are read as those tokens, invalid
// bytes become U+FFFD, <unk> decodes to U+FFFD. to_tokenizer_json() writes a file with the same ids
// in Headlight; other programs read its nearest steps. By default, the begin token comes before
// texts of BPE models only. Throws Error, one line that begins with `name`, for a file that
// read_sentencepiece_file() refuses, and for added tokens with other ids.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string_view bytes, const std::string& name,
                                                   const SentencePieceSettings& settings = {});

}  // namespace headlight
