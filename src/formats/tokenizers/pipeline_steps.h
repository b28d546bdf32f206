#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tokenizers/pipeline/normalizer.h"
#include "tokenizers/pipeline/pipeline_tokenizer.h"
#include "tokenizers/pipeline/pre_tokenizer.h"

namespace headlight {

// Readers of the steps of a tokenizer.json. All throw Error for unsupported steps: one line that
// begins with `where`, the file and the key.

Normalizer read_normalizer(const Json& json, const std::string& where);

// SentencePiece's own steps, which no combination of the others equals.
struct SentencePieceSteps {
  Normalizer normalizer;
  std::set<std::string, std::less<>> user_defined;  // found first in normalized text
  std::set<std::string, std::less<>> unused;        // no text becomes these tokens
};
// Reads normalizer.sentencepiece, which sentencepiece_normalizer_json() writes; nothing without it.
std::optional<SentencePieceSteps> read_sentencepiece(const Json& normalizer,
                                                     const std::string& where);

// Returns a normalizer with normalizer.sentencepiece for Headlight, and the nearest steps for
// Hugging Face `tokenizers`. `charsmap` holds the bytes of a Charsmap; "": none.
struct SentencePieceNormalizerJson {
  std::string_view charsmap;
  bool prefix = true;
  bool single_blanks = true;
  Json user_defined = Json::array();
  Json unused = Json::array();
};
Json sentencepiece_normalizer_json(const SentencePieceNormalizerJson& from);

struct PreTokenizerSteps {
  std::vector<PreTokenizerStep> steps;
  bool byte_level = false;  // the last step maps bytes to characters
};
PreTokenizerSteps read_pre_tokenizer(const Json& json, const std::string& where);

// The decoder: how tokens become text.
struct DecoderSteps {
  bool byte_level = false;                    // token names are in byte characters
  std::vector<NormalizerStep> replaced = {};  // applied to every token
  bool byte_fallback = false;                 // <0x41> is a byte
  TextStart text_start = TextStart::kept;
  std::string start_mark = {};
  std::string continuation = {};  // WordPiece's mark, "##"; "": another decoder
  bool cleans_up = false;         // WordPiece: no blank before punctuation

  std::string bytes_of(const std::string& name) const;
};
DecoderSteps read_decoder(const Json& json, const std::string& where);

// A special token that begins or ends texts, and its ids in the step that adds it.
struct TextEnd {
  std::string name;
  Json ids;
};

// The special tokens that begin and end texts. Without `first`, `last` does not end prompts, which
// a model continues.
struct TextEnds {
  std::optional<TextEnd> first = {};
  std::optional<TextEnd> last = {};
};
TextEnds read_text_ends(const Json& json, const std::string& where);

}  // namespace headlight
