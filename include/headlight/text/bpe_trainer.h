#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/bpe_tokenizer.h"

namespace headlight {

struct BpeTrainerOptions {
  Index vocab_size = 30000;  // special tokens and the 256 bytes included
  Index min_frequency = 0;   // a pair that came less often is not merged; 0 is 1
  // In the order of their ids. <|endoftext|> must be among them.
  std::vector<std::string> special_tokens{std::string(kEndOfTextName)};

  // Throws Error naming the field for a vocabulary that cannot hold the bytes and special tokens, a
  // negative frequency, and a special token that is empty, not UTF-8, comes twice or is a single
  // piece of text (see bpe_piece_length), which a merge could make as well.
  void validate() const;
};

// Learns the vocabulary of a byte-level BPE tokenizer from text: the same merges in the same order
// and the same ids as Hugging Face's BpeTrainer (tokenizers 0.23) with the pre-tokenizer
// ByteLevel(add_prefix_space=False), its whole alphabet as initial_alphabet, and its default
// limits.
//
// Ids: the special tokens in the order given, then the bytes in the order of the characters that
// stand for them in tokenizer.json (33-126, 161-172, 174-255, then the other 68), then a token for
// each merge. The most frequent pair is merged first; of pairs equally frequent the one whose left
// id is smaller, then the one whose right id is smaller. Two merges may make the same token, which
// keeps its first id. Where such a token stands again beside a neighbour with which it was merged
// before, the pair counts with its old occurrences, and a merge made twice keeps the later place:
// that is their bookkeeping, kept for equal results.
//
// Names of special tokens in the text are text to the trainer, as there. No result depends on the
// number of threads or on how the text is handed over.
class BpeTrainer {
 public:
  // Throws what validate() throws.
  explicit BpeTrainer(BpeTrainerOptions options);
  ~BpeTrainer();
  BpeTrainer(BpeTrainer&&) noexcept;

  // Counts the pieces of one text. Only the pieces are kept. Throws Error naming the first byte
  // that is not UTF-8.
  void feed(std::string_view text);
  // The same with each line, its "\n" included, as a text of its own. This is what Tokenizer.train
  // does with files; other than in feed(), no token can hold the end of a line and what follows.
  void feed_lines(std::string_view text);

  // The vocabulary of all that was fed: fewer than vocab_size tokens when the text runs out of
  // pairs. The trainer is then as new.
  BpeVocabulary finish();

 private:
  struct Counters;

  BpeTrainerOptions options_;
  std::unique_ptr<Counters> counters_;
};

}  // namespace headlight
