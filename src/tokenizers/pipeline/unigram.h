#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/pipeline/piece_model.h"
#include "tokenizers/pipeline/piece_trie.h"

namespace headlight {

// The unigram model of SentencePiece: of all ways to cut a text into tokens, the one with the
// highest sum of scores (Kudo, arXiv 1804.10959). Sums have SentencePiece's order and precision, or
// those of Hugging Face `tokenizers`, so that ids agree even for nearly equal ways.
class Unigram final : public PieceModel {
 public:
  struct Piece {
    std::string_view text;  // not empty
    std::int32_t id = 0;
    double score = 0;
    bool user_defined = false;  // preferred to all others
  };
  // Ids of a character without a token: its bytes, or else `unknown`, once for adjacent ones.
  struct Fallback {
    std::int32_t unknown = 0;
    std::array<std::int32_t, 256> bytes = {};
    bool has_bytes = false;
  };

  // `is_exact`: sums scores in float64, as Hugging Face `tokenizers` does.
  Unigram(const std::vector<Piece>& pieces, const Fallback& fallback, bool is_exact = false);

  std::string_view kind() const override { return "unigram"; }
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;

 private:
  // The last token of the best way to cut the text before a position.
  struct Step {
    std::int32_t id = -1;
    double score = 0;         // of the whole way
    std::int64_t begin = -1;  // -1: no way yet
  };

  double rounded(double score) const;
  // True for a character without a token, and in `tokenizers` for the name of `unknown`, which
  // belongs to the unknown characters around it.
  bool is_unknown(const Step& step) const;
  void add_unknown(std::string_view text, std::vector<std::int32_t>& ids) const;
  void extend(std::string_view text, std::size_t begin, std::vector<Step>& best) const;

  PieceTrie trie_;              // values: ids
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  Fallback fallback_;
  bool is_exact_;
};

}  // namespace headlight
