#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "tokenizers/pipeline/piece_model.h"

namespace headlight {

// The WordPiece model of BERT: each word becomes its longest prefix in the vocabulary, then the
// longest continuations, whose names begin with a mark such as "##" (Wu et al., arXiv 1609.08144).
class WordPiece final : public PieceModel {
 public:
  struct Options {
    std::string mark = "##";         // before continuations
    std::size_t longest_word = 100;  // characters; longer words are unknown
    std::int32_t unknown = 0;        // id of a word that the vocabulary cannot make up
  };

  // `names` [V], which must outlive the model without moving; "" for ids without a token.
  WordPiece(const std::vector<std::string>& names, Options options);

  std::string_view kind() const override { return "wordpiece"; }
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const override;

 private:
  Options options_;
  TextMap<std::int32_t> ids_;
  std::size_t longest_name_ = 0;  // bytes
};

}  // namespace headlight
