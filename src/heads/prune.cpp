#include "headlight/heads/prune.h"

#include <algorithm>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

constexpr Index kNoHead = -1;

// For every layer, which head of the given model, by its place, stands where in the new one.
using Layout = std::vector<std::vector<Index>>;
// For every layer, the numbers of the new model's heads.
using HeadNumbers = std::vector<std::vector<Index>>;

// Parts of `width` along an axis, in the order of `heads`; zeros where there is none.
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

// c_attn holds query, key and value one after the other, each head by head.
Tensor pick_from_projection(const Tensor& x, const std::vector<Index>& heads, Index width) {
  const Index inner = x.size(0) / 3;
  std::vector<Tensor> parts;
  for (Index part = 0; part < 3; ++part) {
    parts.push_back(pick_heads(slice(x, 0, part * inner, (part + 1) * inner), 0, heads, width));
  }
  return concat(parts, 0);
}

Tensor rearranged(const ModelWeight& from, const Layout& layout, Index width) {
  const Tensor x = from.tensor.detach();
  switch (from.weight.heads) {
    case HeadAxis::query_key_value:
      return pick_from_projection(x, layout[static_cast<std::size_t>(from.weight.layer)], width);
    case HeadAxis::output:
      return pick_heads(x, 1, layout[static_cast<std::size_t>(from.weight.layer)], width);
    case HeadAxis::none:
      break;
  }
  return x;
}

bool counts_from_zero(const std::vector<Index>& numbers) {
  return numbers.empty() || (numbers.front() == 0 && numbers.back() == std::ssize(numbers) - 1);
}

// The configuration with the layout's numbers of heads.
GptConfig config_with(const GptConfig& given, const Layout& layout, HeadNumbers numbers,
                      Index width) {
  GptConfig config = given;
  config.n_head = 1;
  config.heads_per_layer.clear();
  for (const std::vector<Index>& layer : layout) {
    config.heads_per_layer.push_back(static_cast<Index>(layer.size()));
    config.n_head = std::max(config.n_head, config.heads_per_layer.back());
  }
  const auto& heads = config.heads_per_layer;
  if (std::count(heads.begin(), heads.end(), config.n_head) == config.n_layer) {
    config.heads_per_layer.clear();
  }
  config.head_width = config.n_head * width == config.n_embd ? 0 : width;
  config.head_numbers.clear();
  if (!std::all_of(numbers.begin(), numbers.end(), counts_from_zero)) {
    config.head_numbers = std::move(numbers);
  }
  return config;
}

std::unique_ptr<Gpt> rebuilt(const Gpt& model, const Layout& layout, HeadNumbers numbers) {
  require_value(model.config().n_kv_head == 0, "heads", "of a model whose heads share ",
                model.config().n_kv_head, " heads of keys and values none can be removed");
  const NoGrad no_grad;
  const Index width = model.heads().head_width;
  std::unique_ptr<Gpt> result =
      Gpt::blank(config_with(model.config(), layout, std::move(numbers), width), model.dtype());
  NamedTensors to = result->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].second.copy_from(rearranged(model.weights()[i], layout, width));
  }
  return result;
}

// `kept` and the smallest other numbers, `count` in all, rising.
std::vector<Index> filled_up(const std::vector<Index>& kept, Index count) {
  std::vector<Index> numbers = kept;
  for (Index number = 0; std::ssize(numbers) < count; ++number) {
    if (std::find(kept.begin(), kept.end(), number) == kept.end()) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

std::unique_ptr<Gpt> prune_heads(const Gpt& model, const HeadSet& heads) {
  const HeadLayout whole = model.heads();
  heads.require_in(whole);
  Layout layout(whole.numbers.size());
  HeadNumbers numbers(whole.numbers.size());
  for (const HeadId& id : HeadSet::all(whole)) {
    if (!heads.contains(id)) {
      layout[static_cast<std::size_t>(id.layer)].push_back(place_of(id, whole));
      numbers[static_cast<std::size_t>(id.layer)].push_back(id.head);
    }
  }
  for (std::size_t layer = 0; layer < layout.size(); ++layer) {
    require_value(!layout[layer].empty(), "heads", "layer ", layer,
                  " would have no head left, expected at least one");
  }
  return rebuilt(model, layout, std::move(numbers));
}

std::unique_ptr<Gpt> zero_heads(const Gpt& model, const HeadSet& heads) {
  const HeadLayout whole = model.heads();
  heads.require_in(whole);
  Layout layout(whole.numbers.size());
  for (const HeadId& id : HeadSet::all(whole)) {
    layout[static_cast<std::size_t>(id.layer)].push_back(heads.contains(id) ? kNoHead
                                                                            : place_of(id, whole));
  }
  return rebuilt(model, layout, whole.numbers);
}

std::unique_ptr<Gpt> fill_up_heads(const Gpt& model, Index heads) {
  const HeadLayout kept = model.heads();
  HeadNumbers numbers = kept.numbers;
  Layout layout(numbers.size());
  for (std::size_t layer = 0; layer < layout.size(); ++layer) {
    require_value(std::ssize(numbers[layer]) <= heads, "heads", "layer ", layer, " has ",
                  numbers[layer].size(), ", more than ", heads);
    numbers[layer] = filled_up(numbers[layer], heads);
    for (const Index number : numbers[layer]) {
      layout[layer].push_back(kept.place(static_cast<Index>(layer), number).value_or(kNoHead));
    }
  }
  return rebuilt(model, layout, std::move(numbers));
}

}  // namespace headlight
