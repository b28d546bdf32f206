#pragma once

#include <vector>

#include "headlight/nn/architecture.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// Keys and values of one sequence in every layer, so that the next token costs one step. Its memory
// grows with the sequence, block by block.
class KeyValueCache {
 public:
  // Positions of a block.
  static constexpr Index kBlock = 64;

  KeyValueCache() = default;  // of no model
  explicit KeyValueCache(const GptConfig& config, DType dtype = DType::float32);
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache&&) = default;

  // The same sequence again, to be continued in another way. Blocks that are full are shared.
  KeyValueCache fork() const { return fork(length_); }
  // The first `length` positions of it alone.
  KeyValueCache fork(Index length) const;

  // Positions in use.
  Index length() const { return length_; }
  // Positions that there is memory for.
  Index room() const;
  Index layers() const { return static_cast<Index>(layers_.size()); }
  const AttentionPlan& plan(Index layer) const { return of(layer).plan; }

  // Gets memory for `count` positions behind those in use.
  void reserve(Index count);
  // Puts keys and values [T, G, D] of a layer behind the positions in use, for which there is room.
  // They count from advance() on.
  void write(Index layer, const Tensor& keys, const Tensor& values);
  void advance(Index count) { length_ += count; }
  // Of a text that begins anew. Gives the memory back.
  void clear();

  // The first `count` keys or values of a layer, [G, count, D].
  Tensor keys(Index layer, Index count) const { return gathered(of(layer), 0, count); }
  Tensor values(Index layer, Index count) const { return gathered(of(layer), 1, count); }

  // The blocks of a layer of a float32 model, in order: each [2, G, kBlock, D], keys before values;
  // every head starts on a boundary of 64 bytes.
  const std::vector<float*>& blocks(Index layer) const { return of(layer).starts; }

 private:
  struct Layer {
    AttentionPlan plan;
    std::vector<Tensor> blocks;
    std::vector<float*> starts;  // of the blocks; none of other types than float32

    void add(Tensor block);
  };

  const Layer& of(Index layer) const { return layers_[static_cast<std::size_t>(layer)]; }
  Tensor gathered(const Layer& layer, Index part, Index count) const;

  DType dtype_ = DType::float32;
  std::vector<Layer> layers_;
  Index length_ = 0;
};

}  // namespace headlight
