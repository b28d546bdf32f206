#include <memory>
#include <optional>
#include <type_traits>

#include "course/gradcheck/cases.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/gpt_config_keys.h"

// Cases of whole models. They find ops that are correct but combined incorrectly.
namespace headlight::cli {
namespace {

constexpr Index kElementsPerParameter = 24;

// Spreads the weights. With initial weights most gradients are close to 0 and would hide errors.
void spread_weights(const Gpt& gpt) {
  std::uint64_t stream = 0;
  for (auto& [name, parameter] : gpt.parameters()) {
    const bool gain = parameter.rank() == 1 && name.ends_with("weight");
    const double centre = gain ? 1.0 : 0.0;
    parameter.copy_from(
        draw(parameter.shape(), ++stream, {.low = centre - 0.5, .high = centre + 0.5}).detach());
  }
}

// Adds the mean loss of four sequences of different lengths. One sequence has no target.
void add_gpt(GradientCases& to, const std::string& description, const GptConfig& config,
             const ForwardContext& context = {}) {
  const auto gpt = std::make_shared<Gpt>(config, 1, DType::float64);
  spread_weights(*gpt);
  std::vector<Input> inputs;
  for (const auto& [name, parameter] : gpt->parameters()) {
    inputs.push_back(parameter);
  }
  const Batch batch = make_batch({{1, 4, 7, 2, 9, 10}, {5}, {3, 8, 0}, {6, 6}});
  // The inputs are the model's own parameters, so the model sees every change of an input.
  const auto loss = [=](const Inputs&) { return gpt->loss(batch, context); };
  add(to, "gpt", loss, {{description, inputs, {}, kElementsPerParameter}});
}

GptConfig tiny_config() {
  return {.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8};
}

// Gives a key another value, if it is a number without a unit, a flag or a choice.
void change(const GptConfigKey& key, GptConfig& config) {
  visit_value(key, config, [&](auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      value = !value;
    } else if constexpr (std::is_same_v<Value, std::optional<bool>>) {
      value = !config.bias;
    } else if constexpr (std::is_same_v<Value, double>) {
      value = 0.7;
    } else if constexpr (HasChoices<Value>) {
      value = kChoices<Value>[value == kChoices<Value>[0].value ? 1 : 0].value;
    }
  });
}

bool can_learn(const GptConfig& config) {
  try {
    config.validate();
    return config.has_head();
  } catch (const Error&) {
    return false;
  }
}

// Adds a model for each key that changes its function.
void add_keys(GradientCases& to, const GptConfig& base) {
  for (const GptConfigKey& key : gpt_config_keys()) {
    GptConfig changed = base;
    change(key, changed);
    if (!is_equal_in(key, base, changed) && has_effect(key, changed) && can_learn(changed)) {
      add_gpt(to, concat_text(key.name, " = ", value_text(key, changed)), changed);
    }
  }
}

}  // namespace

void gpt_cases(GradientCases& to) {
  GptConfig untied = tiny_config();
  untied.tie_weights = false;
  untied.norm = NormPosition::post;
  untied.activation = Activation::gelu_erf;
  untied.bias = false;
  GptConfig pruned = tiny_config();
  pruned.n_head = 3;
  pruned.head_width = 5;
  pruned.heads_per_layer = {1, 3};
  GptConfig attention_only = tiny_config();
  attention_only.mlp = false;
  GptConfig dropping = tiny_config();
  dropping.attention_dropout = 0.2;
  dropping.residual_dropout = 0.2;
  dropping.embedding_dropout = 0.2;
  GptConfig capped = tiny_config();  // like OLMo 2, with Gemma 2's caps
  capped.norm = NormPosition::output;
  capped.qk_norm = true;
  capped.qk_norm_whole = true;
  capped.attention_cap = 0.7;
  capped.logit_cap = 0.9;
  GptConfig rotated = tiny_config();
  rotated.position = PositionKind::rope;
  rotated.qk_norm = true;
  add_gpt(to, "two layers, norms of outputs, norms of all heads, soft caps", capped);
  add_keys(to, rotated);
  add_gpt(to, "two layers, tied, pre-norm", tiny_config());
  add_gpt(to, "two layers, untied, post-norm, no biases", untied);
  add_gpt(to, "two layers with pruned heads", pruned);
  add_gpt(to, "two layers without MLPs", attention_only);
  add_gpt(to, "two layers with dropout", dropping,
          {.training = true, .random = {.seed = 5, .stream = 12}});
}

}  // namespace headlight::cli
