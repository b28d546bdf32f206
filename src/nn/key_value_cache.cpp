#include "headlight/nn/key_value_cache.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight {
namespace {

// Returns positions [begin, end) of a block's keys (part 0) or values (1): a view [G, T, D].
Tensor positions_of(const Tensor& block, Index part, Index begin, Index end) {
  const Index heads = block.size(1);
  const Index width = block.size(3);
  return block.strided_view({heads, end - begin, width}, {KeyValueCache::kBlock * width, width, 1},
                            (part * heads * KeyValueCache::kBlock + begin) * width);
}

void* start_of(Tensor& block) {
  switch (block.dtype()) {
    case DType::float64:
      return block.mutable_data<double>();
    case DType::bfloat16:
      return block.mutable_data<BFloat16>();
    default:
      return block.mutable_data<float>();
  }
}

// Calls body(block, begin, end, done) for the part of positions [first, last) in each block. `done`
// positions are in earlier blocks.
template <class Body>
void for_blocks(Index first, Index last, const Body& body) {
  constexpr Index kBlock = KeyValueCache::kBlock;
  for (Index at = first; at < last;) {
    const Index block = at / kBlock;
    const Index end = std::min(last, (block + 1) * kBlock);
    body(static_cast<std::size_t>(block), at - block * kBlock, end - block * kBlock, at - first);
    at = end;
  }
}

}  // namespace

KeyValueCache::KeyValueCache(const GptConfig& config, DType stored) : stored_(stored) {
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    layers_.push_back({.plan = block_plan(config, layer).attention, .blocks = {}, .starts = {}});
  }
}

void KeyValueCache::Layer::add(Tensor block) {
  starts.push_back(start_of(block));
  blocks.push_back(std::move(block));
}

KeyValueCache KeyValueCache::fork(Index length) const {
  require(length >= 0 && length <= length_, "[KeyValueCache] expected a length up to ", length_,
          ", got ", length);
  KeyValueCache other;
  other.stored_ = stored_;
  other.length_ = length;
  const auto full = static_cast<std::size_t>(length / kBlock);
  for (const Layer& layer : layers_) {
    Layer copy{.plan = layer.plan, .blocks = {}, .starts = {}};
    for (std::size_t i = 0; i < layer.blocks.size() && static_cast<Index>(i) * kBlock < length;
         ++i) {
      copy.add(i < full ? layer.blocks[i] : layer.blocks[i].clone());
    }
    other.layers_.push_back(std::move(copy));
  }
  return other;
}

void KeyValueCache::reserve(Index count) {
  for (Layer& layer : layers_) {
    while (static_cast<Index>(layer.blocks.size()) * kBlock < length_ + count) {
      layer.add(Tensor::empty({2, layer.plan.key_heads, kBlock, layer.plan.head_width}, stored_));
    }
  }
}

void KeyValueCache::truncate(Index length) {
  require(length >= 0 && length <= length_, "[KeyValueCache] expected a length from 0 to ", length_,
          ", got ", length);
  length_ = length;
}

void KeyValueCache::clear() {
  for (Layer& layer : layers_) {
    layer.blocks.clear();
    layer.starts.clear();
  }
  length_ = 0;
}

void KeyValueCache::write(Index layer, const Tensor& keys, const Tensor& values) {
  const AttentionPlan& plan = of(layer).plan;
  const auto put = [&](Index part, const Tensor& given) {
    require(
        given.rank() == 3 && given.size(1) == plan.key_heads && given.size(2) == plan.head_width,
        "[KeyValueCache] expected keys and values [T, ", plan.key_heads, ", ", plan.head_width,
        "], got ", given.shape());
    const Tensor from = convert(given, stored_);
    const Shape& strides = from.strides();
    for_blocks(length_, length_ + from.size(0),
               [&](auto block, Index begin, Index end, Index done) {
                 positions_of(of(layer).blocks[block], part, begin, end)
                     .copy_from(from.strided_view({plan.key_heads, end - begin, plan.head_width},
                                                  {strides[1], strides[0], strides[2]},
                                                  done * strides[0]));
               });
  };
  put(0, keys);
  put(1, values);
}

Tensor KeyValueCache::gathered(const Layer& layer, Index part, Index count) const {
  const Index heads = layer.plan.key_heads;
  const Index width = layer.plan.head_width;
  Tensor result = Tensor::empty({heads, count, width}, stored_);
  for_blocks(0, count, [&](auto block, Index begin, Index end, Index done) {
    result.strided_view({heads, end - begin, width}, {count * width, width, 1}, done * width)
        .copy_from(positions_of(layer.blocks[block], part, begin, end));
  });
  return stored_ == DType::bfloat16 ? convert(result, DType::float32) : result;
}

}  // namespace headlight
