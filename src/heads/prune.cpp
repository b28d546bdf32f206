#include "headlight/heads/prune.h"

#include <algorithm>
#include <map>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

constexpr Index kNoHead = -1;

// For every layer, which head of the given model stands where in the new one.
using Layout = std::vector<std::vector<Index>>;

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

// The configuration with the layout's numbers of heads.
GptConfig config_with(const GptConfig& given, const Layout& layout, Index width) {
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
  return config;
}

std::unique_ptr<Gpt> rebuilt(const Gpt& model, const Layout& layout) {
  const NoGrad no_grad;
  const Index width = block_plan(model.config(), 0).attention.head_width;
  std::unique_ptr<Gpt> result =
      Gpt::blank(config_with(model.config(), layout, width), model.dtype());
  NamedTensors to = result->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].second.copy_from(rearranged(model.weights()[i], layout, width));
  }
  return result;
}

// Every head of the model at its place, or nothing for those that are named.
Layout layout_with_gaps(const GptConfig& config, const std::vector<HeadId>& gaps) {
  require_heads(gaps, config);
  Layout layout(static_cast<std::size_t>(config.n_layer));
  for (const HeadId& id : all_heads(config)) {
    const bool is_gap = std::find(gaps.begin(), gaps.end(), id) != gaps.end();
    layout[static_cast<std::size_t>(id.layer)].push_back(is_gap ? kNoHead : id.head);
  }
  return layout;
}

}  // namespace

std::unique_ptr<Gpt> prune_heads(const Gpt& model, const std::vector<HeadId>& heads) {
  Layout layout = layout_with_gaps(model.config(), heads);
  for (std::size_t layer = 0; layer < layout.size(); ++layer) {
    std::erase(layout[layer], kNoHead);
    require(!layout[layer].empty(), "heads: layer ", layer,
            " would have no head left, expected at least one");
  }
  return rebuilt(model, layout);
}

std::unique_ptr<Gpt> zero_heads(const Gpt& model, const std::vector<HeadId>& heads) {
  return rebuilt(model, layout_with_gaps(model.config(), heads));
}

std::unique_ptr<Gpt> fill_up_heads(const Gpt& model, Index heads) {
  Layout layout = layout_with_gaps(model.config(), {});
  for (std::size_t layer = 0; layer < layout.size(); ++layer) {
    require(static_cast<Index>(layout[layer].size()) <= heads, "heads: layer ", layer, " has ",
            layout[layer].size(), ", more than ", heads);
    layout[layer].resize(static_cast<std::size_t>(heads), kNoHead);
  }
  return rebuilt(model, layout);
}

}  // namespace headlight
