#include "headlight/text/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/text/bpe_pattern.h"
#include "kernels/parallel.h"
#include "text/byte_characters.h"
#include "text/merge_learner.h"
#include "text/piece_counter.h"

namespace headlight {
namespace {

constexpr std::size_t kSegment = std::size_t{1} << 16;  // bytes that a thread counts at once
constexpr Index kBytes = 256;

bool is_one_piece(std::string_view text) {
  return !text.empty() && bpe_piece_length(text) == text.size();
}

// The bytes in the order of their ids.
std::array<char, kBytes> ordered_bytes() {
  const auto characters = byte_characters();
  std::array<unsigned char, kBytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(i);
  }
  std::sort(bytes.begin(), bytes.end(), [&](unsigned char left, unsigned char right) {
    return characters[left] < characters[right];
  });
  std::array<char, kBytes> result;
  std::copy(bytes.begin(), bytes.end(), result.begin());
  return result;
}

// The special tokens and the bytes.
BpeVocabulary first_vocabulary(const std::vector<std::string>& special_tokens) {
  BpeVocabulary vocabulary;
  for (const std::string& name : special_tokens) {
    vocabulary.special.push_back({name, static_cast<std::int32_t>(vocabulary.tokens.size())});
    vocabulary.tokens.emplace_back();
  }
  for (const char byte : ordered_bytes()) {
    vocabulary.tokens.emplace_back(1, byte);
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

// `text` in parts of whole lines, of about kSegment bytes.
std::vector<std::string_view> split_between_lines(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t least = std::min(kSegment, text.size()) - 1;
    const std::size_t end = std::min(text.find('\n', least), text.size() - 1) + 1;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

void count_line_pieces(std::string_view text, PieceCounter& counter) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    count_pieces(text.substr(0, end), counter);
    text.remove_prefix(end);
  }
}

// A word of one token has no pair to merge.
CountedWords words_of(const PieceCounter& counter, std::int32_t first_byte) {
  std::array<std::int32_t, kBytes> ids;
  const auto bytes = ordered_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ids[static_cast<unsigned char>(bytes[i])] = first_byte + static_cast<std::int32_t>(i);
  }
  CountedWords words;
  for (std::size_t number = 0; number < counter.size(); ++number) {
    const std::string_view piece = counter.piece(number);
    if (piece.size() > 1) {
      words.begins.push_back(words.tokens.size());
      words.lengths.push_back(piece.size());
      words.counts.push_back(counter.count(number));
      for (const char byte : piece) {
        words.tokens.push_back(ids[static_cast<unsigned char>(byte)]);
      }
    }
  }
  return words;
}

}  // namespace

void BpeTrainerOptions::validate() const {
  const auto specials = static_cast<Index>(special_tokens.size());
  require(vocab_size >= kBytes + specials, "vocab_size: expected at least ", kBytes + specials,
          " (256 bytes and ", specials, " special tokens), got ", vocab_size);
  require(vocab_size <= std::numeric_limits<std::int32_t>::max(), "vocab_size: expected at most ",
          std::numeric_limits<std::int32_t>::max(), ", got ", vocab_size);
  require(min_frequency >= 0, "min_frequency: expected at least 0, got ", min_frequency);
  std::set<std::string> seen;
  for (const std::string& name : special_tokens) {
    require(!name.empty(), "special_tokens: expected names, got an empty one");
    require_utf8(name, "special_tokens");
    require(seen.insert(name).second, "special_tokens: ", in_quotes(name), " comes twice");
    require(!is_one_piece(name) && !is_one_piece(bytes_of_name(name).value_or("")),
            "special_tokens: ", in_quotes(name),
            " could be learned from text as well; choose a name like <|pad|>");
  }
  require(seen.count(std::string(kEndOfTextName)) > 0, "special_tokens: expected ", kEndOfTextName,
          " among them");
}

// One for each thread.
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
  counters_->count(split_between_lines(text), count_line_pieces);
}

BpeVocabulary BpeTrainer::finish() {
  BpeVocabulary vocabulary = first_vocabulary(options_.special_tokens);
  const auto first_byte = static_cast<std::int32_t>(options_.special_tokens.size());
  CountedWords words = words_of(counters_->sum(), first_byte);
  counters_ = std::make_unique<Counters>();
  MergeLearner(std::move(words), vocabulary).learn(options_.vocab_size, options_.min_frequency);
  return vocabulary;
}

}  // namespace headlight
