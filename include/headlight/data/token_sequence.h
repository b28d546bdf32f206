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

// Token ids that do not lie in memory, such as those of a file.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // What messages call it, such as the path of a file.
  virtual std::string name() const = 0;
  virtual Index size() const = 0;
  // Fills `ids` with the ids from place `begin` on; all of them must lie inside. Several threads
  // may read at once. Throws Error when they can no longer be had.
  virtual void read(Index begin, std::span<std::int32_t> ids) const = 0;
  // What it holds in memory all the same.
  virtual Index bytes_in_memory() const { return 0; }
};

// Token ids in a row: held in memory, or left in a source and read where they are needed. Copies
// share the ids.
class TokenSequence {
 public:
  TokenSequence() = default;
  // Not explicit: ids in memory are the usual case.
  TokenSequence(std::vector<std::int32_t> ids);
  TokenSequence(std::initializer_list<std::int32_t> ids);
  explicit TokenSequence(std::shared_ptr<const TokenSource> source);

  Index size() const { return size_; }
  bool empty() const { return size() == 0; }
  // The first and the last id; there must be one.
  std::int32_t front() const { return id_at(0); }
  std::int32_t back() const { return id_at(size() - 1); }

  // Fills `ids` with the ids from place `begin` on; all of them must lie inside. Throws what the
  // source throws.
  void read(Index begin, std::span<std::int32_t> ids) const;
  // The ids begin ... begin + count - 1.
  std::vector<std::int32_t> tokens(Index begin, Index count) const;
  // Hands on all ids in order, those of a source part by part.
  void for_each_part(const std::function<void(std::span<const std::int32_t> part)>& use) const;

  // Takes the ids from place `kept` on away and returns them.
  TokenSequence take_tail(Index kept);
  // Takes all ids away. Throws Error when those of a source do not fit in memory.
  std::vector<std::int32_t> take();

  bool in_memory() const { return source_ == nullptr; }
  // What the ids take here: four bytes each; those of a source mostly nothing.
  Index bytes_in_memory() const;

 private:
  std::int32_t id_at(Index place) const;

  std::shared_ptr<std::vector<std::int32_t>> ids_;  // null: none, or in a source
  std::shared_ptr<const TokenSource> source_;       // null: in memory
  Index begin_ = 0;                                 // the part of either
  Index size_ = 0;
};

// All parts as one sequence, without copying those of sources.
TokenSequence join_sequences(std::vector<TokenSequence> parts);

// True when both have the same ids, wherever they lie.
bool operator==(const TokenSequence& left, const TokenSequence& right);

}  // namespace headlight
