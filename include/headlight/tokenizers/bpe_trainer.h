#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/bpe_tokenizer.h"

namespace headlight {

struct BpeTrainerOptions {
  Index vocab_size = 30000;  // includes special tokens and the 256 bytes
  Index min_frequency = 0;   // rarer pairs are not merged; 0 means 1
  // Makes every character of the text a token before other pairs are merged, so that no token of
  // the text is a part of a character. finish() throws Error if the vocabulary cannot hold them.
  bool whole_characters = false;
  // Special tokens in the order of their ids; must include <|endoftext|>.
  std::vector<std::string> special_names{std::string(kEndOfTextName)};

  // Throws Error that names the field if the vocabulary cannot hold the bytes and special tokens,
  // the frequency is negative, or a special token is empty, not UTF-8, repeated or a single piece
  // of text (see bpe_piece_length), which a merge could produce as well.
  void validate() const;
};

// Learns the vocabulary of a byte-level BPE tokenizer from text. Gives the same merges, in the same
// order, and the same ids as Hugging Face's BpeTrainer (tokenizers 0.23) with the pre-tokenizer
// ByteLevel(add_prefix_space=False), its whole alphabet as initial_alphabet, and its default
// limits.
//
// Ids: the special tokens in the given order, then the bytes in the order of their characters in
// tokenizer.json (33-126, 161-172, 174-255, then the other 68), then one token per merge. The most
// frequent pair is merged first; ties go to the smaller left id, then to the smaller right id. Two
// merges may make the same token, which keeps its first id. If a later merge recreates a token next
// to an already merged neighbour, the pair's count includes its old occurrences. A repeated merge
// keeps its last position. BpeTrainer counts this way.
//
// Names of special tokens in the text are plain text, as in BpeTrainer. Results do not depend on
// the number of threads or on the division of the text into calls.
class BpeTrainer {
 public:
  // Throws as validate().
  explicit BpeTrainer(BpeTrainerOptions options);
  ~BpeTrainer();
  BpeTrainer(BpeTrainer&&) noexcept;

  // Counts the pieces of one text and keeps only the pieces. Throws Error that names the first byte
  // that is not UTF-8.
  void feed(std::string_view text);
  // Counts each line, with its "\n", as a separate text, as Tokenizer.train does with files. Unlike
  // after feed(), no token can contain a line end and following text.
  void feed_lines(std::string_view text);

  // Returns the vocabulary learned from all texts; fewer than vocab_size tokens if no pairs are
  // left. The trainer is then empty again. Calls `progress` with the share of learned tokens.
  BpeVocabulary finish(const std::function<void(double share)>& progress = [](double) {});

 private:
  struct Counters;

  BpeTrainerOptions options_;
  std::unique_ptr<Counters> counters_;
};

}  // namespace headlight
