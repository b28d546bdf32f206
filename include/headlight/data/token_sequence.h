#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
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
  std::int32_t id_at(Index place) const;

  std::shared_ptr<std::vector<std::int32_t>> ids_;  // null: none, or in a source
  std::shared_ptr<const TokenSource> source_;       // null: in memory
  Index begin_ = 0;                                 // start in ids_ or source_
  Index size_ = 0;
};

// Joins the parts into one sequence, without copying ids of sources.
TokenSequence join_sequences(std::vector<TokenSequence> parts);

// True if both have the same ids, in memory or not.
bool operator==(const TokenSequence& left, const TokenSequence& right);

}  // namespace headlight
