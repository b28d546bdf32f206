#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// Token ids outside memory, for example in a file.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Name in messages, for example the path of a file.
  virtual std::string name() const = 0;
  virtual Index size() const = 0;
  // Fills `ids` with the ids from position `begin` on; all must be inside. Thread-safe. Throws
  // Error if the ids can no longer be read.
  virtual void read(Index begin, std::span<std::int32_t> ids) const = 0;
  // Memory of the source in bytes.
  virtual Index bytes_in_memory() const { return 0; }
};

// A sequence of token ids, in memory or in a source that is read on demand. Copies share the ids.
class TokenSequence {
 public:
  TokenSequence() = default;
  // Not explicit: ids in memory are the usual case.
  TokenSequence(std::vector<std::int32_t> ids);
  TokenSequence(std::initializer_list<std::int32_t> ids);
  explicit TokenSequence(std::shared_ptr<const TokenSource> source);

  Index size() const { return size_; }
  bool empty() const { return size() == 0; }
  // The first and the last id; the sequence must not be empty.
  std::int32_t front() const { return id_at(0); }
  std::int32_t back() const { return id_at(size() - 1); }

  // Fills `ids` with the ids from position `begin` on; all must be inside. Throws as the source
  // does.
  void read(Index begin, std::span<std::int32_t> ids) const;
  // Returns the ids begin ... begin + count - 1.
  std::vector<std::int32_t> tokens(Index begin, Index count) const;
  // Passes all ids to `use` in order; ids of a source come in several parts.
  void for_each_part(const std::function<void(std::span<const std::int32_t> part)>& use) const;

  // Removes the ids from position `kept` on and returns them.
  TokenSequence take_tail(Index kept);
  // Removes and returns all ids. Throws Error if ids of a source do not fit in memory.
  std::vector<std::int32_t> take();

  bool in_memory() const { return source_ == nullptr; }
  // Memory of the ids in bytes: 4 per id, or the memory of the source.
  Index bytes_in_memory() const;

 private:
  std::int32_t id_at(Index position) const;

  std::shared_ptr<std::vector<std::int32_t>> ids_;  // null: none, or in a source
  std::shared_ptr<const TokenSource> source_;       // null: in memory
  Index begin_ = 0;                                 // start in ids_ or source_
  Index size_ = 0;
};

// Joins the parts into one sequence, without copying ids of sources.
TokenSequence join_sequences(std::vector<TokenSequence> parts);

// True if both have the same ids, in memory or not.
bool operator==(const TokenSequence& left, const TokenSequence& right);

// Many sequences outside memory, for example the documents of a token file.
class SequenceSource {
 public:
  virtual ~SequenceSource() = default;
  virtual Index size() const = 0;
  // Returns sequence `number`, 0 ... size() - 1. Thread-safe. Throws Error if it can no longer be
  // read.
  virtual TokenSequence at(Index number) const = 0;
  // Fills `lengths` with the token counts of the sequences from `first` on. Throws as at() does.
  virtual void lengths(Index first, std::span<Index> lengths) const = 0;
  // Memory of the source in bytes.
  virtual Index bytes_in_memory() const { return 0; }
};

// A list of sequences, in memory or in a source that makes them on demand: a list of a billion
// documents takes no memory. Copies share a source.
class TokenSequences {
 public:
  TokenSequences() = default;
  // Not explicit: sequences in memory are the usual case.
  TokenSequences(std::vector<TokenSequence> held) : held_(std::move(held)) {}
  TokenSequences(std::initializer_list<TokenSequence> held) : held_(held) {}
  template <class Iterator>
  TokenSequences(Iterator begin, Iterator end) : held_(begin, end) {}
  explicit TokenSequences(std::shared_ptr<const SequenceSource> source)
      : source_(std::move(source)), count_(source_->size()) {}

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  TokenSequence operator[](std::size_t number) const;
  TokenSequence front() const { return (*this)[0]; }
  // Fills `lengths` with the token counts of the sequences from `first` on.
  void lengths(Index first, std::span<Index> lengths) const;
  // Calls use(lengths) with the lengths of all sequences in order, in parts.
  void for_each_lengths(const std::function<void(std::span<const Index> lengths)>& use) const;

  // Appends a sequence, which may be in a source. The list itself must be in_memory().
  void push_back(TokenSequence sequence) { held_.push_back(std::move(sequence)); }
  // Removes the sequences from number `kept` on and returns them.
  TokenSequences take_tail(Index kept);
  // Removes and returns all sequences.
  std::vector<TokenSequence> take();

  bool in_memory() const { return source_ == nullptr; }
  // Memory of the ids in bytes.
  Index bytes_in_memory() const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = TokenSequence;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = TokenSequence;

    Iterator(const TokenSequences& sequences, std::size_t number)
        : sequences_(&sequences), number_(number) {}
    TokenSequence operator*() const { return (*sequences_)[number_]; }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return number_ == other.number_; }

   private:
    const TokenSequences* sequences_;
    std::size_t number_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  std::vector<TokenSequence> held_;               // empty if there is a source
  std::shared_ptr<const SequenceSource> source_;  // null: in memory
  Index first_ = 0;                               // first sequence in the source
  Index count_ = 0;
};

// Joins the lists into one, without copying sequences of sources.
TokenSequences join_lists(std::vector<TokenSequences> parts);

// Returns the sequences in a random order that depends on the seed and their number alone. A list
// in a source stays there and takes no memory.
TokenSequences shuffled(TokenSequences sequences, std::uint64_t seed);

// True if both have the same sequences, in memory or not.
bool operator==(const TokenSequences& left, const TokenSequences& right);

}  // namespace headlight
