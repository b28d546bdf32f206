#pragma once

#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "headlight/text/bpe_tokenizer.h"
#include "text/pair_table.h"

namespace headlight {

// The different words of a corpus as tokens, with the number of times that each came.
struct CountedWords {
  std::vector<std::int32_t> tokens;  // of all words, one after the other
  std::vector<std::size_t> begins;   // where each word begins in `tokens`
  std::vector<std::size_t> lengths;  // in tokens
  std::vector<Index> counts;
};

// Learns byte-pair merges: again and again the most frequent pair of neighbours becomes a token.
// Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", 2016,
// algorithm 1, with the ties and the bookkeeping of Hugging Face's BpeTrainer; see BpeTrainer.
class MergeLearner {
 public:
  // `vocabulary` holds the tokens that `words` are made of. Both are changed in place; the
  // vocabulary must outlive the learner.
  MergeLearner(CountedWords words, BpeVocabulary& vocabulary);

  // Adds tokens and merges until the vocabulary has `vocab_size` tokens or no pair is left that
  // came at least `min_frequency` times.
  void learn(Index vocab_size, Index min_frequency);

 private:
  // A pair that waits to be merged where `words` list it. Its count is what it was when last
  // looked at: it may have become less. A pair waits more than once when a token comes about in
  // two ways.
  struct Candidate {
    Index count;
    MergePair pair;
    std::int32_t words;  // in lists_

    bool operator<(const Candidate& other) const;
  };

  void count_pairs();
  void count_pair(MergePair pair, Index change, std::size_t word);
  // The candidates of the pairs that have got new occurrences.
  void queue_fresh_pairs();
  std::int32_t new_list();
  void merge(const Candidate& candidate);
  void merge_in_word(std::size_t word, MergePair pair, std::int32_t merged);
  std::int32_t token_of(MergePair pair);
  // A merge that came twice counts where it came last.
  void drop_repeated_merges();

  CountedWords words_;
  BpeVocabulary& vocabulary_;
  std::unordered_map<std::string, std::int32_t> ids_;
  PairTable pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<std::vector<std::uint32_t>> lists_;  // words in which a pair occurs, ascending
  std::vector<std::int32_t> free_lists_;
  std::vector<MergePair> fresh_;  // pairs with new occurrences
};

}  // namespace headlight
