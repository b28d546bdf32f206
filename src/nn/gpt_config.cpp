#include "headlight/nn/gpt_config.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numeric>
#include <type_traits>

#include "headlight/nn/architecture.h"
#include "headlight/nn/gpt_config_keys.h"

namespace headlight {
namespace {

template <class T>
void require_range(const char* name, T value, T least, T most) {
  require_value(value >= least && value <= most, name, "expected ", least, " to ", most, ", got ",
                value);
}

// Checks a number against the range of its key, if that has an upper bound.
template <class T>
void require_in_range(const GptConfigKey& key, T value) {
  const ConfigRange& range = *key.range;
  const auto number = static_cast<double>(value);
  if (std::isinf(range.most) || (range.is_cap && value == 0) ||
      (number >= range.least && number <= range.most &&
       !(range.below_most && number == range.most))) {
    return;
  }
  fail_value(key.name, "expected ", range.is_cap ? "0 or a number from 1e-6" : "",
             range.is_cap ? "" : std::to_string(static_cast<Index>(range.least)), " to ",
             range.below_most ? "below " : "", static_cast<T>(range.most), ", got ", value);
}

// Checks the numbers of all keys that do not depend on others.
void check_ranges(const GptConfig& config) {
  for (const GptConfigKey& key : gpt_config_keys()) {
    visit_value(key, config, [&](const auto& value) {
      using Value = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::same_as<Value, Index> || std::same_as<Value, double>) {
        require_in_range(key, value);
      } else if constexpr (std::same_as<Value, std::vector<Index>>) {
        require_value(value.empty() || std::ssize(value) == config.n_layer, key.name, "expected ",
                      config.n_layer, " numbers, got ", value.size());
        std::ranges::for_each(value, [&](Index number) { require_in_range(key, number); });
      }
    });
  }
}

// Checks head_numbers or key_head_numbers; `count` is the number of heads.
void check_numbers(const GptConfig& config, const char* name,
                   const std::vector<std::vector<Index>>& layers, Index AttentionPlan::*count) {
  require_value(layers.empty() || std::ssize(layers) == config.n_layer, name, "expected ",
                config.n_layer, " lists, got ", layers.size());
  const Index most = kMostHeads / config.n_layer;  // limit of the model before pruning
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<Index>& numbers = layers[layer];
    const Index heads = block_plan(config, static_cast<Index>(layer)).attention.*count;
    require_value(std::ssize(numbers) == heads, name, "expected ", heads, " for layer ", layer,
                  ", got ", numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      require_value(numbers[i] >= 0 && numbers[i] < most && (i == 0 || numbers[i - 1] < numbers[i]),
                    name, "expected increasing numbers from 0 to ", most - 1, " for layer ", layer,
                    ", got ", numbers[i]);
    }
  }
}

std::vector<Index> counted(Index count) {
  std::vector<Index> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  return numbers;
}

void check_key_heads(const GptConfig& config) {
  const Index heads = config.n_head;
  const Index key_heads = config.n_kv_head;
  require_value(key_heads == 0 || (key_heads > 0 && heads % key_heads == 0), "n_kv_head",
                "expected a divisor of ", heads, " heads, got ", key_heads);
  require_value(key_heads == 0 || key_heads == heads || config.heads_per_layer.empty(), "n_kv_head",
                "expected ", heads, " because layers have different heads, got ", key_heads);
  const auto& layers = config.key_groups;
  require_value(layers.empty() || (std::ssize(layers) == config.n_layer && key_heads == 0),
                "key_groups", "expected ", config.n_layer, " lists, and no n_kv_head");
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    Index sum = 0;
    for (const Index size : layers[layer]) {
      require_range<Index>("key_groups", size, 1, heads);
      sum += size;
    }
    const Index expected = config.heads(static_cast<Index>(layer));
    require_value(sum == expected, "key_groups", "expected ", expected, " heads in total in layer ",
                  layer, ", got ", sum);
  }
}

// Returns n_kv_head for a model whose layers all have equal groups of the same size; else 0.
Index even_key_heads(const GptConfig& config) {
  const auto& layers = config.key_groups;
  const std::vector<Index>& first = layers.front();
  const bool is_even = config.heads_per_layer.empty() &&
                       std::count(first.begin(), first.end(), first.front()) == std::ssize(first) &&
                       std::count(layers.begin(), layers.end(), first) == std::ssize(layers);
  return is_even ? std::ssize(first) : 0;
}

// Returns whether a key of `config` has no effect, or a value that means the same as the default.
// Other keys are those of `given`.
bool is_redundant(const GptConfigKey& key, const GptConfig& given, const GptConfig& config) {
  if (!has_effect(key, given)) {
    return true;
  }
  return key.same_as_default != nullptr && visit_value(key, config, [&](const auto& value) {
           using Value = std::remove_cvref_t<decltype(value)>;
           if constexpr (std::same_as<Value, Index> || std::same_as<Value, double>) {
             return value == static_cast<Value>(key.same_as_default(given));
           }
           return false;
         });
}

bool has_keys_of_its_own(const std::vector<Index>& groups) {
  return std::all_of(groups.begin(), groups.end(), [](Index size) { return size == 1; });
}

void check_llama3_bounds(const RopeOptions& rope) {
  require_value(rope.low_freq_factor > 0 && rope.low_freq_factor <= kLargestTheta,
                "low_freq_factor", "expected a number above 0 and at most ", kLargestTheta,
                ", got ", rope.low_freq_factor);
  require_value(
      rope.high_freq_factor > rope.low_freq_factor && rope.high_freq_factor <= kLargestTheta,
      "high_freq_factor", "expected a number above low_freq_factor = ", rope.low_freq_factor,
      " and at most ", kLargestTheta, ", got ", rope.high_freq_factor);
}

void check_yarn_bounds(const RopeOptions& rope) {
  require_value(
      rope.beta_slow > 0 && rope.beta_slow <= rope.beta_fast && rope.beta_fast <= kLargestTheta,
      "beta_fast", "expected a number from beta_slow = ", rope.beta_slow, " to ", kLargestTheta,
      ", got ", rope.beta_fast);
  require_value(rope.theta != 1, "rope_theta", "must not be 1");
}

void check_longrope_factors(const char* name, const std::vector<double>& factors,
                            Index rotary_width) {
  require_value(std::ssize(factors) == rotary_width / 2, name, "expected ", rotary_width / 2,
                " numbers, one for two rotated elements of a head, got ", factors.size());
  for (const double factor : factors) {
    require_value(factor > 0 && factor <= kLargestTheta, name,
                  "expected numbers above 0 and at most ", kLargestTheta, ", got ", factor);
  }
}

void check_rope(const GptConfig& config) {
  const RopeOptions& rope = config.rope;
  if (config.position != PositionKind::rope) {
    return;
  }
  require_value(rope.theta > 0 && rope.theta <= kLargestTheta, "rope_theta",
                "expected a number above 0 and at most ", kLargestTheta, ", got ", rope.theta);
  const Index head_width = config.elements_of_head();
  const Index rotary_width = rope.width == 0 ? head_width : rope.width;
  require_value(rotary_width > 0 && rotary_width % 2 == 0 && rotary_width <= head_width,
                "rotary_pct", "expected an even number of the ", head_width,
                " elements of a head, got ", rotary_width);
  require_value(rope.factor > 0 && rope.factor <= kLargestTheta, "rope_factor",
                "expected a number above 0 and at most ", kLargestTheta, ", got ", rope.factor);
  if (rope.scaling == RopeScaling::llama3) {
    check_llama3_bounds(rope);
  }
  if (rope.scaling == RopeScaling::yarn) {
    check_yarn_bounds(rope);
  }
  if (rope.scaling == RopeScaling::longrope) {
    check_longrope_factors("short_factor", rope.short_factors, rotary_width);
    check_longrope_factors("long_factor", rope.long_factors, rotary_width);
  }
  require_value(rope.attention_factor > 0 && rope.attention_factor <= kLargestScale,
                "attention_factor", "expected a number above 0 and at most ", kLargestScale,
                ", got ", rope.attention_factor);
  if (rope.scaling == RopeScaling::llama3 || rope.scaling == RopeScaling::yarn ||
      rope.scaling == RopeScaling::longrope) {
    require_range<Index>("original_max_position_embeddings", rope.original_max_position_embeddings,
                         1, kLargestSize);
  }
}

}  // namespace

Index GptConfig::heads(Index layer) const {
  return heads_per_layer.empty() ? n_head : heads_per_layer[static_cast<std::size_t>(layer)];
}

bool GptConfig::rotates(Index layer) const {
  return position == PositionKind::rope &&
         (rope_per_layer.empty() || rope_per_layer[static_cast<std::size_t>(layer)] != 0);
}

Index GptConfig::elements_of_head() const { return head_width > 0 ? head_width : n_embd / n_head; }

HeadLayout GptConfig::head_layout() const {
  HeadLayout layout{.numbers = head_numbers, .head_width = elements_of_head()};
  for (Index layer = layout.layers(); layer < n_layer; ++layer) {
    layout.numbers.push_back(counted(heads(layer)));
  }
  layout.key_numbers = key_head_numbers;
  if (n_kv_head > 0 || !key_groups.empty()) {
    for (Index layer = 0; layer < n_layer; ++layer) {
      const AttentionPlan plan = block_plan(*this, layer).attention;
      std::vector<Index>& indices = layout.key_indices.emplace_back();
      for (Index head = 0; head < plan.heads; ++head) {
        indices.push_back(plan.key_head(head));
      }
      if (key_head_numbers.empty()) {
        layout.key_numbers.push_back(counted(plan.key_heads));
      }
    }
  }
  return layout;
}

NormOptions GptConfig::norm_options(Index width, DType dtype) const {
  return {.width = width,
          .epsilon = layer_norm_epsilon,
          .bias = bias && norm_weights && norm_type == NormKind::layer,
          .dtype = dtype,
          .affine = norm_weights,
          .kind = norm_type,
          .gain_plus_one = norm_gain_plus_one};
}

GptConfig GptConfig::canonical() const {
  GptConfig config = *this;
  if (std::all_of(key_groups.begin(), key_groups.end(), has_keys_of_its_own)) {
    config.key_groups.clear();
  } else if (const Index even = even_key_heads(*this); even > 0) {
    config.key_groups.clear();
    config.n_kv_head = even;
  }
  // These norms have no bias, so that `bias` is redundant.
  config.bias = norm_type == NormKind::rms || !norm_weights ? qkv_bias.value_or(bias) : bias;
  for (std::optional<bool>* bias_of_part :
       {&config.qkv_bias, &config.attention_output_bias, &config.mlp_bias}) {
    *bias_of_part =
        bias_of_part->value_or(bias) == config.bias ? std::nullopt : std::optional(!config.bias);
  }
  for (const GptConfigKey& key : gpt_config_keys()) {
    if (is_redundant(key, *this, config)) {
      copy_value(key, {}, config);
    }
  }
  return config;
}

void GptConfig::require_head() const {
  require(has_head(),
          "this model has no head that predicts tokens; only its hidden states have a meaning");
}

void GptConfig::validate() const {
  require_value(layer_norm_epsilon > 0 && layer_norm_epsilon < 1, "layer_norm_epsilon",
                "expected a number above 0 and below 1, got ", layer_norm_epsilon);
  check_ranges(*this);
  require_value(n_head * n_layer <= kMostHeads, "n_head", "expected at most ", kMostHeads,
                " heads in all layers, got ", n_layer, " x ", n_head);
  require_value(head_width > 0 || n_embd % n_head == 0, "n_head", "expected a divisor of n_embd ",
                n_embd, ", got ", n_head);
  for (const Index heads : heads_per_layer) {
    require_range<Index>("heads_per_layer", heads, 1, n_head);
  }
  for (const GptConfigKey& key : gpt_config_keys()) {
    const bool is_refused = key.is_refused != nullptr && key.is_refused(*this);
    require_value(!is_refused, key.name, key.fault);
  }
  check_rope(*this);
  check_key_heads(*this);
  check_numbers(*this, "head_numbers", head_numbers, &AttentionPlan::heads);
  check_numbers(*this, "key_head_numbers", key_head_numbers, &AttentionPlan::key_heads);
}

}  // namespace headlight
