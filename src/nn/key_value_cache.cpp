#include "headlight/nn/key_value_cache.h"

#include <algorithm>

#include "headlight/base/error.h"
#include "headlight/kernels/threads/parallel.h"
#include "kernels/attention/attention_step.h"
#include "kernels/panels/panels.h"
#include "tensor/float16.h"

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
  return block.dtype() == DType::float64 ? static_cast<void*>(block.mutable_data<double>())
                                         : block.mutable_data<float>();
}

// The offset of one row [D] in a block of rounded numbers: of key head `head` (values: G + head)
// and position `index` of the block.
struct RoundedRow {
  CacheType type = CacheType::float32;
  Index width = 0;
  Index head = 0;
  Index index = 0;

  // Returns the row of a block whose elements have type T.
  template <class T>
  T* in(void* block) const {
    return static_cast<T*>(block) + head * kernels::cached_head(type, width) + index * width;
  }
  // Returns the scale of the row; int8 only.
  float* scale(void* block) const {
    std::int8_t* const numbers = in<std::int8_t>(block) - index * width;
    return reinterpret_cast<float*>(numbers + KeyValueCache::kBlock * width) + index;
  }
  void write(const float* from, void* block) const;
  void read(void* block, float* to) const;
};

void RoundedRow::write(const float* from, void* block) const {
  switch (type) {
    case CacheType::float32:
      std::copy_n(from, width, in<float>(block));
      break;
    case CacheType::bfloat16:
      std::transform(from, from + width, in<std::uint16_t>(block), float_to_bfloat16);
      break;
    case CacheType::float16:
      kernels::decode_loops().to_float16(from, in<std::uint16_t>(block), width);
      break;
    case CacheType::int8:
      kernels::round_to_int8(from, width, in<std::int8_t>(block), scale(block));
      break;
  }
}

void RoundedRow::read(void* block, float* to) const {
  switch (type) {
    case CacheType::float32:
      std::copy_n(in<float>(block), width, to);
      break;
    case CacheType::bfloat16:
      std::transform(in<BFloat16>(block), in<BFloat16>(block) + width, to,
                     [](BFloat16 x) { return static_cast<float>(x); });
      break;
    case CacheType::float16:
      kernels::decode_loops().from_float16(in<std::uint16_t>(block), to, width);
      break;
    case CacheType::int8:
      std::transform(
          in<std::int8_t>(block), in<std::int8_t>(block) + width, to,
          [scale = *scale(block)](std::int8_t x) { return static_cast<float>(x) * scale; });
      break;
  }
}

// Returns the size of a block of rounded numbers, in floats.
Index memory_of_block(CacheType type, const AttentionPlan& plan) {
  const Index bytes = type == CacheType::int8 ? 1 : 2;
  return 2 * plan.key_heads * kernels::cached_head(type, plan.head_width) * bytes / 4;
}

// Returns the positions of all key heads that a thread rounds at least.
Index rows_at_once(const AttentionPlan& plan) {
  constexpr Index kNumbers = Index{1} << 14;
  return std::max<Index>(kNumbers / (plan.key_heads * plan.head_width), 1);
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

KeyValueCache::KeyValueCache(const GptConfig& config, DType dtype, CacheType type)
    : dtype_(dtype), type_(type) {
  static_assert(kBlock == kernels::kAttentionBlock);
  require(dtype == DType::float32 || type == CacheType::float32,
          "[KeyValueCache] expected a float32 model for ", name_of(type), ", got ", dtype);
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    layers_.push_back({.plan = block_plan(config, layer).attention, .blocks = {}, .starts = {}});
  }
}

void KeyValueCache::Layer::add(Tensor block) {
  starts.push_back(start_of(block));
  blocks.push_back(std::move(block));
}

void KeyValueCache::count_blocks(std::shared_ptr<Index> count) {
  counted_.clear();
  count_ = std::move(count);
  count_new_blocks();
}

// Counts the blocks since the last call. The last share in a block ends its part of the count.
void KeyValueCache::count_new_blocks() {
  while (count_ != nullptr && std::ssize(counted_) * kBlock < capacity()) {
    ++*count_;
    counted_.emplace_back(nullptr, [count = count_](const void*) { --*count; });
  }
}

KeyValueCache KeyValueCache::fork(Index length) const {
  require(length >= 0 && length <= length_, "[KeyValueCache] expected a length up to ", length_,
          ", got ", length);
  KeyValueCache other;
  other.dtype_ = dtype_;
  other.type_ = type_;
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
  if (count_ != nullptr) {
    other.count_ = count_;
    other.counted_.assign(counted_.begin(), counted_.begin() + static_cast<std::ptrdiff_t>(full));
    other.count_new_blocks();
  }
  return other;
}

void KeyValueCache::reserve(Index count) {
  for (Layer& layer : layers_) {
    while (static_cast<Index>(layer.blocks.size()) * kBlock < length_ + count) {
      const AttentionPlan& plan = layer.plan;
      layer.add(type_ == CacheType::float32
                    ? Tensor::empty({2, plan.key_heads, kBlock, plan.head_width}, dtype_)
                    : Tensor::empty({memory_of_block(type_, plan)}));
    }
  }
  count_new_blocks();
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
  counted_.clear();
  length_ = 0;
}

void KeyValueCache::write(Index layer, const Tensor& keys, const Tensor& values) {
  const AttentionPlan& plan = of(layer).plan;
  const auto put = [&](Index part, const Tensor& given) {
    require(
        given.rank() == 3 && given.size(1) == plan.key_heads && given.size(2) == plan.head_width,
        "[KeyValueCache] expected keys and values [T, ", plan.key_heads, ", ", plan.head_width,
        "], got ", given.shape());
    if (type_ != CacheType::float32) {
      write_rounded(layer, part, given.strides()[2] == 1 ? given : to_contiguous(given));
      return;
    }
    const Tensor from = convert(given, dtype_);
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

void KeyValueCache::write_rounded(Index layer, Index part, const Tensor& rows) {
  const AttentionPlan& plan = of(layer).plan;
  const float* from = rows.data<float>();
  const Shape& strides = rows.strides();
  parallel_for(rows.size(0), rows_at_once(plan), [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      for (Index head = 0; head < plan.key_heads; ++head) {
        write_row(layer, part, head, length_ + t, from + t * strides[0] + head * strides[1]);
      }
    }
  });
}

void KeyValueCache::write_row(Index layer, Index part, Index head, Index position,
                              const float* row) {
  const Layer& to = of(layer);
  const RoundedRow stored{type_, to.plan.head_width, part * to.plan.key_heads + head,
                          position % kBlock};
  stored.write(row, to.starts[static_cast<std::size_t>(position / kBlock)]);
}

Tensor KeyValueCache::widened(const Layer& layer, Index part, Index count) const {
  const Index heads = layer.plan.key_heads;
  const Index width = layer.plan.head_width;
  Tensor result = Tensor::empty({heads, count, width});
  float* to = result.mutable_data<float>();
  parallel_for(count, rows_at_once(layer.plan), [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      for (Index head = 0; head < heads; ++head) {
        const RoundedRow stored{type_, width, part * heads + head, t % kBlock};
        stored.read(layer.starts[static_cast<std::size_t>(t / kBlock)],
                    to + (head * count + t) * width);
      }
    }
  });
  return result;
}

Tensor KeyValueCache::gathered(const Layer& layer, Index part, Index count) const {
  if (type_ != CacheType::float32) {
    return widened(layer, part, count);
  }
  const Index heads = layer.plan.key_heads;
  const Index width = layer.plan.head_width;
  Tensor result = Tensor::empty({heads, count, width}, dtype_);
  for_blocks(0, count, [&](auto block, Index begin, Index end, Index done) {
    result.strided_view({heads, end - begin, width}, {count * width, width, 1}, done * width)
        .copy_from(positions_of(layer.blocks[block], part, begin, end));
  });
  return result;
}

}  // namespace headlight
