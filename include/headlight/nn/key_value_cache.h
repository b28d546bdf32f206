#pragma once

#include <memory>
#include <vector>

#include "headlight/kernels/precision.h"
#include "headlight/nn/architecture.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// Keys and values of one sequence in every layer, so that a new token costs one step. Memory grows
// with the sequence, block by block.
class KeyValueCache {
 public:
  // Positions per block.
  static constexpr Index kBlock = 64;

  KeyValueCache() = default;  // without layers
  // `dtype`: the type of the model. Types other than CacheType::float32 round the elements of a
  // float32 model.
  explicit KeyValueCache(const GptConfig& config, DType dtype = DType::float32,
                         CacheType type = CacheType::float32);
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache&&) = default;

  // Adds the blocks of this cache and of its later forks to a count, and subtracts them when they
  // are freed. A block that forks share counts once. Caches of one count belong to one thread.
  void count_blocks(std::shared_ptr<Index> count);

  // Returns a copy for another continuation of the same sequence. Shares full blocks.
  KeyValueCache fork() const { return fork(length_); }
  // Returns a copy of the first `length` positions.
  KeyValueCache fork(Index length) const;

  Index length() const { return length_; }
  Index layers() const { return static_cast<Index>(layers_.size()); }
  const AttentionPlan& plan(Index layer) const { return of(layer).plan; }

  // Allocates memory for `count` more positions.
  void reserve(Index count);
  // Returns the positions that the memory holds.
  Index capacity() const { return layers_.empty() ? 0 : std::ssize(layers_[0].blocks) * kBlock; }
  // Writes keys and values [T, G, D] of a layer after the positions in use; reserve() memory first.
  // advance() makes them count.
  void write(Index layer, const Tensor& keys, const Tensor& values);
  // Writes the key (part 0) or value (1) [D] of a position and key head of a float32 model.
  // Different threads may write different heads.
  void write_row(Index layer, Index part, Index head, Index position, const float* row);
  void advance(Index count) { length_ += count; }
  // Drops all positions from `length` on; their memory is kept for later positions. Forks share
  // full blocks: `length` must not be below the length of a fork that is in use.
  void truncate(Index length);
  // Empties the cache and frees its memory.
  void clear();

  // Return the first `count` keys or values of a layer, [G, count, D], in the type of the model.
  Tensor keys(Index layer, Index count) const { return gathered(of(layer), 0, count); }
  Tensor values(Index layer, Index count) const { return gathered(of(layer), 1, count); }

  // Returns the blocks of a layer, in order: each [2, G, kBlock, D] of type type(), keys before
  // values. With int8, scales, float32 [kBlock], follow the [kBlock, D] numbers of each head. Every
  // head is aligned to 64 bytes.
  const std::vector<void*>& blocks(Index layer) const { return of(layer).starts; }
  CacheType type() const { return type_; }

 private:
  struct Layer {
    AttentionPlan plan;
    std::vector<Tensor> blocks;
    std::vector<void*> starts;  // of the blocks

    void add(Tensor block);
  };

  const Layer& of(Index layer) const { return layers_[static_cast<std::size_t>(layer)]; }
  void count_new_blocks();
  Tensor gathered(const Layer& layer, Index part, Index count) const;
  void write_rounded(Index layer, Index part, const Tensor& rows);
  Tensor widened(const Layer& layer, Index part, Index count) const;

  DType dtype_ = DType::float32;
  CacheType type_ = CacheType::float32;
  std::vector<Layer> layers_;
  std::shared_ptr<Index> count_ = {};                      // null: nobody counts
  std::vector<std::shared_ptr<const void>> counted_ = {};  // a share in each counted block
  Index length_ = 0;
};

}  // namespace headlight
