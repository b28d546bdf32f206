#include "headlight/interpret/prune.h"

#include <algorithm>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "interpret/layer_maps.h"

namespace headlight {
namespace {

constexpr Index kNoHead = -1;

// Index in the given layer of each head of the new layer; kNoHead for an empty head.
struct LayerLayout {
  std::vector<Index> heads;      // of queries
  std::vector<Index> key_heads;  // of keys and values
};
using LayerLayouts = std::vector<LayerLayout>;
// Head numbers of the new model, by layer.
using HeadNumbers = std::vector<std::vector<Index>>;

// Concatenates slices of `width` along an axis, in the order of `heads`; zeros for kNoHead.
Tensor pick_heads(const Tensor& x, Index axis, const std::vector<Index>& heads, Index width) {
  std::vector<Tensor> parts;
  for (const Index head : heads) {
    Shape shape = x.shape();
    shape[axis] = width;
    parts.push_back(head == kNoHead ? Tensor::zeros(shape, x.dtype())
                                    : slice(x, axis, head * width, (head + 1) * width));
  }
  return concat(parts, axis);
}

// c_attn holds query, key and value in this order, each ordered by head.
Tensor pick_from_projection(const Tensor& x, const LayerLayout& layout, const AttentionPlan& plan) {
  std::vector<Tensor> parts;
  for (Index part = 0; part < 3; ++part) {
    const Index begin = plan.part_begin(part);
    const Index end = begin + plan.part_heads(part) * plan.head_width;
    parts.push_back(pick_heads(slice(x, 0, begin, end), 0,
                               part == 0 ? layout.heads : layout.key_heads, plan.head_width));
  }
  return concat(parts, 0);
}

Tensor rearranged(const ModelWeight& from, const GptConfig& config, const LayerLayouts& layout) {
  const Tensor x = from.tensor.detach();
  if (from.weight.heads == HeadAxis::none) {
    return x;
  }
  const LayerLayout& of_layer = layout[static_cast<std::size_t>(from.weight.layer)];
  const AttentionPlan plan = block_plan(config, from.weight.layer).attention;
  return from.weight.heads == HeadAxis::output ? pick_heads(x, 1, of_layer.heads, plan.head_width)
                                               : pick_from_projection(x, of_layer, plan);
}

bool counts_from_zero(const std::vector<Index>& numbers) {
  return numbers.empty() || (numbers.front() == 0 && numbers.back() == std::ssize(numbers) - 1);
}

// Returns the configuration with the layout's numbers of heads.
GptConfig config_with(const GptConfig& given, const LayerLayouts& layout, HeadNumbers numbers,
                      Index width) {
  GptConfig config = given;
  config.n_head = 1;
  config.heads_per_layer.clear();
  for (const LayerLayout& layer : layout) {
    config.heads_per_layer.push_back(static_cast<Index>(layer.heads.size()));
    config.n_head = std::max(config.n_head, config.heads_per_layer.back());
  }
  const auto& heads = config.heads_per_layer;
  if (std::count(heads.begin(), heads.end(), config.n_head) == config.n_layer) {
    config.heads_per_layer.clear();
  }
  config.head_width = config.n_head * width == config.n_embd ? 0 : width;
  config.head_numbers.clear();
  config.key_head_numbers.clear();
  if (!std::all_of(numbers.begin(), numbers.end(), counts_from_zero)) {
    config.head_numbers = std::move(numbers);
  }
  return config;
}

std::unique_ptr<Gpt> rebuilt(const Gpt& model, const LayerLayouts& layout,
                             const GptConfig& config) {
  const NoGrad no_grad;
  std::unique_ptr<Gpt> result = Gpt::blank(config, model.dtype());
  NamedTensors to = result->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].second.copy_from(rearranged(model.weights()[i], model.config(), layout));
  }
  return result;
}

// The numbers of some heads of a layer.
std::vector<Index> picked(const std::vector<Index>& numbers, const std::vector<Index>& indices) {
  std::vector<Index> chosen;
  for (const Index index : indices) {
    chosen.push_back(numbers[static_cast<std::size_t>(index)]);
  }
  return chosen;
}

// Whether key head k serves query heads k * size to (k + 1) * size - 1, by their numbers.
bool has_even_groups(const HeadLayout& heads, Index size) {
  for (Index layer = 0; layer < heads.layers(); ++layer) {
    const std::vector<Index>& numbers = heads.numbers[static_cast<std::size_t>(layer)];
    const std::vector<Index>& key_numbers = heads.key_numbers_of(layer);
    for (Index index = 0; index < std::ssize(numbers); ++index) {
      const auto key_index = static_cast<std::size_t>(heads.key_index(layer, index));
      if (numbers[static_cast<std::size_t>(index)] / size != key_numbers[key_index]) {
        return false;
      }
    }
  }
  return true;
}

// Sizes of a full model that has all heads of a pruned one at their numbers.
struct FullSize {
  Index heads;       // in each layer
  Index group_size;  // query heads that share a key head
};

// Returns the smallest sizes with at least `heads` heads. Prefers a number of heads that divides
// the width, because some readers of config.json require that.
FullSize full_size(const HeadLayout& kept, Index heads, Index width) {
  Index least = heads;
  for (const std::vector<Index>& numbers : kept.numbers) {
    least = std::max(least, numbers.back() + 1);
  }
  Index size = 1;
  while (size < least && !has_even_groups(kept, size)) {
    ++size;
  }
  require_value(has_even_groups(kept, size), "key_groups",
                "expected key heads that each serve equally many consecutive query heads");
  const Index whole = (least + size - 1) / size * size;
  Index count = whole;
  while (count <= width && width % count != 0) {
    count += size;
  }
  return {.heads = count <= width ? count : whole, .group_size = size};
}

// For each number from 0 to `count` - 1, the index of its head in the layer, or kNoHead.
std::vector<Index> indices_of(const std::vector<Index>& numbers, Index count) {
  std::vector<Index> indices(static_cast<std::size_t>(count), kNoHead);
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    indices[static_cast<std::size_t>(numbers[index])] = static_cast<Index>(index);
  }
  return indices;
}

}  // namespace

std::unique_ptr<Gpt> prune_heads(const Gpt& model, const HeadSet& heads) {
  require_causal(model);
  const HeadLayout whole = model.heads();
  heads.require_in(whole);
  require(!model.config().qk_norm_whole || heads.empty(),
          "heads of a model with qk_norm_whole cannot be removed: its norms of queries and keys "
          "depend on all of them");
  LayerLayouts layout;
  HeadNumbers numbers;
  HeadNumbers key_numbers;
  std::vector<std::vector<Index>> key_groups;  // query heads that share each key head
  for (Index layer = 0; layer < whole.layers(); ++layer) {
    const std::vector<Index>& all = whole.numbers[static_cast<std::size_t>(layer)];
    const AttentionPlan plan = block_plan(model.config(), layer).attention;
    LayerLayout& kept = layout.emplace_back();
    std::vector<Index>& groups = key_groups.emplace_back();
    for (Index index = 0; index < plan.heads; ++index) {
      if (heads.contains({layer, all[static_cast<std::size_t>(index)]})) {
        continue;
      }
      kept.heads.push_back(index);
      if (kept.key_heads.empty() || kept.key_heads.back() != plan.key_head(index)) {
        kept.key_heads.push_back(plan.key_head(index));
        groups.push_back(0);
      }
      ++groups.back();
    }
    require_value(!kept.heads.empty(), "heads", "layer ", layer,
                  " would have no head left, expected at least one");
    numbers.push_back(picked(all, kept.heads));
    key_numbers.push_back(picked(whole.key_numbers_of(layer), kept.key_heads));
  }
  if (heads.empty()) {
    return rebuilt(model, layout, model.config());
  }
  GptConfig config = config_with(model.config(), layout, std::move(numbers), whole.head_width);
  if (config.n_kv_head > 0 || !config.key_groups.empty()) {
    config.n_kv_head = 0;
    config.key_groups = std::move(key_groups);
  }
  const HeadLayout pruned = config.head_layout();
  if (key_numbers != (pruned.key_numbers.empty() ? pruned.numbers : pruned.key_numbers)) {
    config.key_head_numbers = key_numbers;
  }
  return rebuilt(model, layout, config);
}

std::unique_ptr<Gpt> fill_up_heads(const Gpt& model, Index heads) {
  const HeadLayout kept = model.heads();
  const FullSize full = full_size(kept, heads, model.config().n_embd);
  const Index key_heads = full.heads / full.group_size;
  LayerLayouts layout(kept.numbers.size());
  for (std::size_t layer = 0; layer < layout.size(); ++layer) {
    layout[layer].heads = indices_of(kept.numbers[layer], full.heads);
    layout[layer].key_heads = indices_of(kept.key_numbers_of(static_cast<Index>(layer)), key_heads);
  }
  GptConfig config = config_with(model.config(), layout, {}, kept.head_width);
  config.key_groups.clear();
  config.n_kv_head = full.group_size > 1 ? key_heads : 0;
  return rebuilt(model, layout, config);
}

}  // namespace headlight
