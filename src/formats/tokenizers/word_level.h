#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"
#include "tokenizers/pipeline/piece_model.h"

namespace headlight {

// The WordLevel model of Hugging Face `tokenizers`: each word is one token.
class WordLevel final : public PieceModel {
 public:
  // `names` [V] must outlive the model without moving; "" for ids without a token. `unknown` is the
  // id of a word outside the vocabulary; -1: encode() throws Error for such a word.
  WordLevel(const std::vector<std::string>& names, std::int32_t unknown);

  std::string_view kind() const override { return "wordlevel"; }
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const override;

 private:
  std::unordered_map<std::string_view, std::int32_t> ids_;
  std::int32_t unknown_;
};

// Returns a tokenizer for ids without texts, such as notes of MIDI: the text of id 17
// is "17", blanks separate ids, and no id is special. `count` is V, the number of ids.
std::unique_ptr<Tokenizer> number_tokenizer(Index count);

}  // namespace headlight
