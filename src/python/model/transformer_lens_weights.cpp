#include <algorithm>
#include <array>

#include "base/strings/read_number.h"
#include "python/model/weights.h"

namespace headlight::python {
namespace {

// Form of a weight in TransformerLens.
enum class Form {
  same,
  transposed,  // [outputs, inputs] as [inputs, outputs]
  queries,     // a third of query_key_value, [heads, C, D] or a bias [heads, D]
  keys,
  values,
  outputs,  // [H, D, C]
};

struct LensWeight {
  std::string_view name;  // without the layer
  Part part = Part::token_embedding;
  bool is_bias = false;
  Form form = Form::same;
};

constexpr auto kLensWeights = std::to_array<LensWeight>({
    {"embed.W_E", Part::token_embedding},
    {"pos_embed.W_pos", Part::position_embedding},
    {"ln1.w", Part::attention_norm},
    {"ln1.b", Part::attention_norm, true},
    {"attn.W_Q", Part::query_key_value, false, Form::queries},
    {"attn.W_K", Part::query_key_value, false, Form::keys},
    {"attn.W_V", Part::query_key_value, false, Form::values},
    {"attn.b_Q", Part::query_key_value, true, Form::queries},
    {"attn.b_K", Part::query_key_value, true, Form::keys},
    {"attn.b_V", Part::query_key_value, true, Form::values},
    {"attn.W_O", Part::attention_output, false, Form::outputs},
    {"attn.b_O", Part::attention_output, true},
    {"ln2.w", Part::mlp_norm},
    {"ln2.b", Part::mlp_norm, true},
    {"mlp.W_in", Part::mlp_in, false, Form::transposed},
    {"mlp.b_in", Part::mlp_in, true},
    {"mlp.W_gate", Part::mlp_gate, false, Form::transposed},
    {"mlp.W_out", Part::mlp_out, false, Form::transposed},
    {"mlp.b_out", Part::mlp_out, true},
    {"ln_final.w", Part::final_norm},
    {"ln_final.b", Part::final_norm, true},
    {"unembed.W_U", Part::head, false, Form::transposed},
    {"unembed.b_U", Part::head, true},
});

Tensor transposed(const Tensor& matrix) {
  return matrix.strided_view({matrix.size(1), matrix.size(0)},
                             {matrix.strides()[1], matrix.strides()[0]});
}

// Returns a part of the stacked projections, head by head.
Tensor heads_of(const Tensor& stacked, const AttentionPlan& plan, Index part) {
  const Index width = plan.head_width;
  const Index heads = plan.part_heads(part);
  const Index row = stacked.strides()[0];
  const Index begin = plan.part_begin(part) * row;
  if (stacked.rank() == 1) {
    return stacked.strided_view({heads, width}, {width * row, row}, begin);
  }
  return stacked.strided_view({heads, stacked.size(1), width},
                              {width * row, stacked.strides()[1], row}, begin);
}

Tensor in_form(const Tensor& weight, Form form, const AttentionPlan& plan) {
  switch (form) {
    case Form::same:
      return weight;
    case Form::transposed:
      return transposed(weight);
    case Form::queries:
    case Form::keys:
    case Form::values:
      return heads_of(weight, plan, static_cast<Index>(form) - static_cast<Index>(Form::queries));
    case Form::outputs:
      return weight.strided_view(
          {plan.heads, plan.head_width, weight.size(0)},
          {plan.head_width * weight.strides()[1], weight.strides()[1], weight.strides()[0]});
  }
  return weight;
}

// A weight of a model; null if the name is of none.
struct FoundWeight {
  const LensWeight* weight = nullptr;
  Index layer = kNoLayer;
};

FoundWeight find_weight_of(const Gpt& model, std::string_view name) {
  FoundWeight found;
  constexpr std::string_view kBlocks = "blocks.";
  if (name.starts_with(kBlocks)) {
    name.remove_prefix(kBlocks.size());
    const std::size_t dot = std::min(name.find('.'), name.size());
    found.layer = read_number<Index>(name.substr(0, dot)).value_or(kNoLayer);
    name.remove_prefix(std::min(dot + 1, name.size()));
    if (found.layer < 0 || found.layer >= model.config().n_layer) {
      return {};
    }
  }
  const auto* entry = std::ranges::find(kLensWeights, name, &LensWeight::name);
  found.weight = entry == kLensWeights.end() ? nullptr : &*entry;
  return found;
}

}  // namespace

Tensor transformer_lens_weight(const Gpt& model, std::string_view name) {
  const auto [weight, layer] = find_weight_of(model, name);
  if (weight == nullptr) {
    return {};
  }
  const bool is_head = weight->part == Part::head;
  const Tensor tensor = is_head ? (weight->is_bias ? model.head_bias() : model.head_weight())
                        : weight->is_bias ? model.bias(weight->part, layer)
                                          : model.weight(weight->part, layer);
  const AttentionPlan plan =
      layer == kNoLayer ? AttentionPlan{} : block_plan(model.config(), layer).attention;
  return tensor.defined() ? in_form(tensor, weight->form, plan) : Tensor();
}

std::vector<Index> transformer_lens_heads(const Gpt& model, std::string_view name) {
  const auto [weight, layer] = find_weight_of(model, name);
  if (weight == nullptr || layer == kNoLayer || weight->form == Form::same ||
      weight->form == Form::transposed) {
    return {};
  }
  const bool is_of_keys = weight->form == Form::keys || weight->form == Form::values;
  const HeadLayout heads = model.heads();
  return is_of_keys ? heads.key_numbers_of(layer) : heads.numbers[static_cast<std::size_t>(layer)];
}

}  // namespace headlight::python
