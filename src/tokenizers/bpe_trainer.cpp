#include "headlight/tokenizers/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/tensor/shape.h"
#include "headlight/tokenizers/bpe_pattern.h"
#include "headlight/tokenizers/bpe_tokenizer.h"
#include "kernels/threads/parallel.h"
#include "tokenizers/byte_characters.h"
#include "tokenizers/pair_map.h"

namespace headlight {
namespace {

constexpr std::size_t kFirstSlots = 1024;

// Counts occurrences of many short byte strings. The strings share one block of memory, so that a
// million of them cost little more than their bytes.
class PieceCounter {
 public:
  PieceCounter() : slots_(kFirstSlots, 0) {}

  void add(std::string_view piece, Index count = 1) {
    const std::size_t hash = std::hash<std::string_view>{}(piece);
    const std::size_t slot = find_slot(piece, hash);
    if (slots_[slot] != 0) {
      entries_[slots_[slot] - 1].count += count;
      return;
    }
    entries_.push_back({hash, bytes_.size(), piece.size(), count});
    bytes_ += piece;
    slots_[slot] = entries_.size();
    if (2 * entries_.size() > slots_.size()) {
      grow();
    }
  }

  // Number of different pieces. They are numbered by first occurrence.
  std::size_t size() const { return entries_.size(); }

  std::string_view piece(std::size_t number) const {
    const Entry& entry = entries_[number];
    return std::string_view(bytes_).substr(entry.begin, entry.length);
  }

  Index count(std::size_t number) const { return entries_[number].count; }

 private:
  struct Entry {
    std::size_t hash;
    std::size_t begin;  // in bytes_
    std::size_t length;
    Index count;
  };

  // Returns the slot of a piece: the one that holds it, or the empty one for it.
  std::size_t find_slot(std::string_view piece, std::size_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    while (slots_[slot] != 0) {
      const std::size_t number = slots_[slot] - 1;
      if (entries_[number].hash == hash && this->piece(number) == piece) {
        break;
      }
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void grow() {
    std::vector<std::size_t> slots(2 * slots_.size(), 0);
    const std::size_t mask = slots.size() - 1;
    for (std::size_t number = 0; number < entries_.size(); ++number) {
      std::size_t slot = entries_[number].hash & mask;
      while (slots[slot] != 0) {
        slot = (slot + 1) & mask;
      }
      slots[slot] = number + 1;
    }
    slots_ = std::move(slots);
  }

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> slots_;  // open addressing: number + 1, 0: empty; power of two
};

// Count and new occurrences of one pair of adjacent tokens.
struct PairRecord {
  Index count = 0;          // occurrences in the corpus
  std::int32_t fresh = -1;  // index in lists_ of its new occurrences; -1: none
};

constexpr std::size_t kFirstPairs = 2000;

// The different words of a corpus as tokens, with their counts.
struct CountedWords {
  std::vector<std::int32_t> tokens;  // all words, one after the other
  std::vector<std::size_t> begins;   // first token of each word in `tokens`
  std::vector<std::size_t> lengths;  // in tokens
  std::vector<Index> counts;
};

// Learns byte-pair merges: the most frequent pair of neighbours becomes a token, repeatedly.
// Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", 2016,
// algorithm 1. Ties are broken as in Hugging Face's BpeTrainer; see BpeTrainer.
class MergeLearner {
 public:
  // `vocabulary` holds the tokens that `words` consist of. Both are changed in place; the
  // vocabulary must outlive the learner.
  MergeLearner(CountedWords words, BpeVocabulary& vocabulary)
      : words_(std::move(words)), vocabulary_(vocabulary) {
    require(words_.counts.size() <= UINT32_MAX,
            "[MergeLearner] too many different words: ", words_.counts.size());
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      if (!vocabulary_.tokens[id].empty()) {  // not a special token
        ids_.emplace(vocabulary_.tokens[id], static_cast<std::int32_t>(id));
      }
    }
    count_pairs();
  }

  // Adds tokens and merges until the vocabulary has `vocab_size` tokens or no remaining pair occurs
  // `min_frequency` times.
  void learn(Index vocab_size, Index min_frequency, const std::function<void(double)>& progress) {
    const auto first = static_cast<double>(vocabulary_.tokens.size());
    while (static_cast<Index>(vocabulary_.tokens.size()) < vocab_size && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const Index count = pairs_.at(top.pair).count;
      if (top.count != count) {
        top.count = count;
        queue_.push(top);
        continue;
      }
      if (count < std::max<Index>(1, min_frequency)) {
        break;
      }
      merge(top);
      progress((static_cast<double>(vocabulary_.tokens.size()) - first) /
               (static_cast<double>(vocab_size) - first));
    }
    drop_repeated_merges();
  }

 private:
  // A pair in the queue, with the list of its words. `count` is the count when it was queued; the
  // true count may be lower now. A pair is queued more than once if two merges give the same token.
  struct Candidate {
    Index count;
    BpeMerge pair;
    std::int32_t words;  // in lists_

    // Largest first: the most frequent pair; on ties the smaller left id, then the smaller right
    // id.
    bool operator<(const Candidate& other) const {
      return std::tuple(count, other.pair.left, other.pair.right, other.words) <
             std::tuple(other.count, pair.left, pair.right, words);
    }
  };

  void count_pairs() {
    for (std::size_t word = 0; word < words_.counts.size(); ++word) {
      const std::int32_t* tokens = words_.tokens.data() + words_.begins[word];
      for (std::size_t i = 1; i < words_.lengths[word]; ++i) {
        count_pair({tokens[i - 1], tokens[i]}, words_.counts[word], word);
      }
    }
    queue_fresh_pairs();
  }

  void count_pair(BpeMerge pair, Index change, std::size_t word) {
    PairRecord& record = pairs_.at(pair);
    record.count += change;
    if (change < 0) {
      return;
    }
    if (record.fresh < 0) {
      record.fresh = new_list();
      fresh_.push_back(pair);
    }
    auto& list = lists_[static_cast<std::size_t>(record.fresh)];
    if (list.empty() || list.back() != word) {
      list.push_back(static_cast<std::uint32_t>(word));
    }
  }

  // Queues the pairs that have new occurrences.
  void queue_fresh_pairs() {
    for (const BpeMerge pair : fresh_) {
      PairRecord& record = pairs_.at(pair);
      const std::int32_t list = std::exchange(record.fresh, -1);
      if (record.count > 0) {
        queue_.push({record.count, pair, list});
      } else {
        lists_[static_cast<std::size_t>(list)].clear();
        free_lists_.push_back(list);
      }
    }
    fresh_.clear();
  }

  std::int32_t new_list() {
    if (free_lists_.empty()) {
      lists_.emplace_back();
      return static_cast<std::int32_t>(lists_.size() - 1);
    }
    const std::int32_t list = free_lists_.back();
    free_lists_.pop_back();
    return list;
  }

  void merge(const Candidate& candidate) {
    const std::int32_t merged = token_of(candidate.pair);
    vocabulary_.merges.push_back(candidate.pair);
    // Moved out of lists_, because lists_ grows while pairs are counted.
    auto& list = lists_[static_cast<std::size_t>(candidate.words)];
    const std::vector<std::uint32_t> words = std::exchange(list, {});
    free_lists_.push_back(candidate.words);
    for (const std::uint32_t word : words) {
      merge_in_word(word, candidate.pair, merged);
    }
    queue_fresh_pairs();
  }

  void merge_in_word(std::size_t word, BpeMerge pair, std::int32_t merged) {
    std::int32_t* tokens = words_.tokens.data() + words_.begins[word];
    const std::size_t length = words_.lengths[word];
    const Index count = words_.counts[word];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < length; ++i) {
      if (tokens[i] != pair.left || i + 1 == length || tokens[i + 1] != pair.right) {
        tokens[kept++] = tokens[i];
        continue;
      }
      if (kept > 0) {
        count_pair({tokens[kept - 1], pair.left}, -count, word);
        count_pair({tokens[kept - 1], merged}, count, word);
      }
      ++i;
      if (i + 1 < length) {
        count_pair({pair.right, tokens[i + 1]}, -count, word);
        count_pair({merged, tokens[i + 1]}, count, word);
      }
      tokens[kept++] = merged;
    }
    words_.lengths[word] = kept;
  }

  std::int32_t token_of(BpeMerge pair) {
    auto& tokens = vocabulary_.tokens;
    std::string bytes =
        tokens[static_cast<std::size_t>(pair.left)] + tokens[static_cast<std::size_t>(pair.right)];
    const auto [entry, is_new] = ids_.emplace(bytes, static_cast<std::int32_t>(tokens.size()));
    if (is_new) {
      tokens.push_back(std::move(bytes));
    }
    return entry->second;
  }

  // Keeps only the last occurrence of a merge: a pair can form anew and be merged again.
  void drop_repeated_merges() {
    auto& merges = vocabulary_.merges;
    PairMap<int> seen(merges.size());
    const auto first_kept = std::remove_if(merges.rbegin(), merges.rend(),
                                           [&](BpeMerge merge) { return ++seen.at(merge) > 1; });
    merges.erase(merges.begin(), first_kept.base());
  }

  CountedWords words_;
  BpeVocabulary& vocabulary_;
  std::unordered_map<std::string, std::int32_t> ids_;
  PairMap<PairRecord> pairs_{kFirstPairs};
  std::priority_queue<Candidate> queue_;
  std::vector<std::vector<std::uint32_t>> lists_;  // words in which a pair occurs, ascending
  std::vector<std::int32_t> free_lists_;
  std::vector<BpeMerge> fresh_;  // pairs with new occurrences
};

constexpr std::size_t kSegment = std::size_t{1} << 16;  // bytes that a thread counts at a time
constexpr Index kBytes = 256;

bool is_one_piece(std::string_view text) {
  return !text.empty() && bpe_piece_length(text) == text.size();
}

// Returns the 256 bytes in the order of their ids.
std::array<std::uint8_t, kBytes> ordered_bytes() {
  const auto characters = byte_characters();
  std::array<std::uint8_t, kBytes> bytes;
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  std::ranges::sort(bytes, {}, [&](std::uint8_t byte) { return characters[byte]; });
  return bytes;
}

// Returns the vocabulary before training: the special tokens and the 256 bytes.
BpeVocabulary first_vocabulary(const std::vector<std::string>& special_names) {
  BpeVocabulary vocabulary;
  for (const std::string& name : special_names) {
    vocabulary.special.push_back({name, static_cast<std::int32_t>(vocabulary.tokens.size())});
    vocabulary.tokens.emplace_back();
  }
  for (const std::uint8_t byte : ordered_bytes()) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  return vocabulary;
}

void count_pieces(std::string_view text, PieceCounter& counter) {
  while (!text.empty()) {
    const std::size_t length = bpe_piece_length(text);
    counter.add(text.substr(0, length));
    text.remove_prefix(length);
  }
}

void count_line_pieces(std::string_view text, PieceCounter& counter) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    count_pieces(text.substr(0, end), counter);
    text.remove_prefix(end);
  }
}

// Returns the characters of several bytes, the most frequent first.
std::vector<std::string> long_characters(const PieceCounter& counter) {
  std::map<std::string, Index> counts;
  for (std::size_t number = 0; number < counter.size(); ++number) {
    for (std::string_view rest = counter.piece(number); !rest.empty();) {
      const auto length = static_cast<std::size_t>(first_character(rest).length);
      if (length > 1) {
        counts[std::string(rest.substr(0, length))] += counter.count(number);
      }
      rest.remove_prefix(length);
    }
  }
  std::vector<std::string> characters;
  for (const auto& [character, count] : counts) {
    characters.push_back(character);
  }
  std::ranges::stable_sort(characters, std::ranges::greater(),
                           [&](const std::string& one) { return counts.at(one); });
  return characters;
}

using TokenIds = std::unordered_map<std::string, std::int32_t>;

// Appends merges that join the bytes of a character from left to right.
void join_bytes(const std::string& character, BpeVocabulary& vocabulary, TokenIds& ids) {
  std::string joined = character.substr(0, 1);
  for (const char byte : character.substr(1)) {
    const BpeMerge merge{ids.at(joined), ids.at(std::string(1, byte))};
    joined += byte;
    if (ids.emplace(joined, static_cast<std::int32_t>(vocabulary.tokens.size())).second) {
      vocabulary.tokens.push_back(joined);
      vocabulary.merges.push_back(merge);
    }
  }
}

// Appends the tokens of a piece, whose characters are tokens.
void add_characters(std::string_view piece, const TokenIds& ids,
                    std::vector<std::int32_t>& tokens) {
  while (!piece.empty()) {
    const auto length = static_cast<std::size_t>(first_character(piece).length);
    tokens.push_back(ids.at(std::string(piece.substr(0, length))));
    piece.remove_prefix(length);
  }
}

// Returns the words of at least 2 tokens, which are characters, or bytes.
CountedWords words_of(const PieceCounter& counter, const TokenIds& ids, bool whole_characters) {
  std::array<std::int32_t, kBytes> of_bytes;
  for (std::size_t byte = 0; byte < of_bytes.size(); ++byte) {
    of_bytes[byte] = ids.at(std::string(1, static_cast<char>(byte)));
  }
  CountedWords words;
  for (std::size_t number = 0; number < counter.size(); ++number) {
    const std::size_t begin = words.tokens.size();
    const std::string_view piece = counter.piece(number);
    if (whole_characters) {
      add_characters(piece, ids, words.tokens);
    } else {
      for (const char byte : piece) {
        words.tokens.push_back(of_bytes[static_cast<unsigned char>(byte)]);
      }
    }
    if (words.tokens.size() - begin < 2) {  // no pair to merge
      words.tokens.resize(begin);
      continue;
    }
    words.begins.push_back(begin);
    words.lengths.push_back(words.tokens.size() - begin);
    words.counts.push_back(counter.count(number));
  }
  return words;
}

}  // namespace

void BpeTrainerOptions::validate() const {
  const auto specials = static_cast<Index>(special_names.size());
  require_value(vocab_size >= kBytes + specials, "vocab_size", "expected at least ",
                kBytes + specials, " (256 bytes and ", specials, " special tokens), got ",
                vocab_size);
  require_value(vocab_size <= std::numeric_limits<std::int32_t>::max(), "vocab_size",
                "expected at most ", std::numeric_limits<std::int32_t>::max(), ", got ",
                vocab_size);
  require_value(min_frequency >= 0, "min_frequency", "expected at least 0, got ", min_frequency);
  std::set<std::string> seen;
  for (const std::string& name : special_names) {
    require_value(!name.empty(), "special_names", "expected names, got an empty one");
    require_utf8_value(name, "special_names");
    require_value(seen.insert(name).second, "special_names", in_quotes(name), " appears twice");
    require_value(!is_one_piece(name) && !is_one_piece(bytes_of_name(name).value_or("")),
                  "special_names", in_quotes(name),
                  " could also be learned from text; choose a name like <|pad|>");
  }
  require_value(seen.count(std::string(kEndOfTextName)) > 0, "special_names", "expected ",
                kEndOfTextName, " among them");
}

// One counter per thread.
struct BpeTrainer::Counters {
  std::vector<PieceCounter> all{1};

  template <class Count>
  void count(const std::vector<std::string_view>& parts, const Count& count_part) {
    all.resize(std::max(all.size(), static_cast<std::size_t>(kernels::max_threads())));
    kernels::parallel_chunks(
        static_cast<Index>(parts.size()), 1, [&](Index thread, Index part, Index, Index) {
          count_part(parts[static_cast<std::size_t>(part)], all[static_cast<std::size_t>(thread)]);
        });
  }

  PieceCounter& sum() {
    for (std::size_t i = 1; i < all.size(); ++i) {
      for (std::size_t number = 0; number < all[i].size(); ++number) {
        all[0].add(all[i].piece(number), all[i].count(number));
      }
    }
    all.resize(1);
    return all[0];
  }
};

BpeTrainer::BpeTrainer(BpeTrainerOptions options)
    : options_(std::move(options)), counters_(std::make_unique<Counters>()) {
  options_.validate();
}

BpeTrainer::~BpeTrainer() = default;
BpeTrainer::BpeTrainer(BpeTrainer&&) noexcept = default;

void BpeTrainer::feed(std::string_view text) {
  require_utf8(text, "text");
  counters_->count(split_between_pieces(text, kSegment), count_pieces);
}

void BpeTrainer::feed_lines(std::string_view text) {
  require_utf8(text, "text");
  counters_->count(split_between_lines(text, kSegment), count_line_pieces);
}

BpeVocabulary BpeTrainer::finish(const std::function<void(double)>& progress) {
  BpeVocabulary vocabulary = first_vocabulary(options_.special_names);
  TokenIds ids;
  for (std::size_t id = options_.special_names.size(); id < vocabulary.tokens.size(); ++id) {
    ids.emplace(vocabulary.tokens[id], static_cast<std::int32_t>(id));
  }
  const PieceCounter& pieces = counters_->sum();
  if (options_.whole_characters) {
    for (const std::string& character : long_characters(pieces)) {
      join_bytes(character, vocabulary, ids);
    }
    require_value(std::ssize(vocabulary.tokens) <= options_.vocab_size, "vocab_size",
                  "expected at least ", vocabulary.tokens.size(),
                  " (the characters of the text, with whole_characters), got ",
                  options_.vocab_size);
  }
  CountedWords words = words_of(pieces, ids, options_.whole_characters);
  counters_ = std::make_unique<Counters>();
  MergeLearner(std::move(words), vocabulary)
      .learn(options_.vocab_size, options_.min_frequency, progress);
  return vocabulary;
}

}  // namespace headlight
