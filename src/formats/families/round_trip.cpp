#include "formats/families/round_trip.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "headlight/base/error.h"
#include "headlight/nn/architecture.h"
#include "headlight/nn/gpt_config_keys.h"

namespace headlight {
namespace {

constexpr std::size_t kLongestValue = 40;  // in a message

// Returns the configuration with equal values for equal models.
GptConfig comparable(const GptConfig& given) {
  GptConfig config = spelled_out(given);
  RopeOptions& rope = config.rope;
  if (rope.scaling == RopeScaling::none || rope.scaling == RopeScaling::longrope) {
    rope.factor = 1;  // without effect
  }
  if (rope.scaling == RopeScaling::none && config.rope_local_theta == rope.theta) {
    config.rope_local_theta = 0;  // as in other layers
  }
  return config;
}

bool is_close(const GptConfigKey& key, const GptConfig& a, const GptConfig& b, double tolerance) {
  return std::visit(
      [&](auto member) {
        const auto& value = value_in(a, member);
        const auto& other = value_in(b, member);
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
          return std::abs(value - other) <= tolerance * std::abs(value);
        } else {
          return value == other;
        }
      },
      key.member);
}

// Returns whether a key has its default in both. A default that follows from another key is not a
// difference of its own.
bool has_default(const GptConfigKey& key, const GptConfig& a, const GptConfig& b) {
  return key.same_as_default != nullptr && is_equal_in(key, a, GptConfig()) &&
         is_equal_in(key, b, GptConfig());
}

// Returns the text about a key. Long lists are not shown.
std::string difference(const GptConfigKey& key, const GptConfig& wanted, const GptConfig& read,
                       std::string_view reader) {
  const std::string value = value_text(key, wanted);
  const std::string other = value_text(key, read);
  return std::max(value.size(), other.size()) > kLongestValue
             ? concat_text(key.name, " cannot be expressed: ", reader, " has others")
             : concat_text(key.name, " = ", value, " cannot be expressed: ", reader, " has ",
                           other);
}

Refusal compared(const GptConfig& config, const GptConfig& again, double tolerance,
                 std::string_view reader) {
  const GptConfig given = config.canonical();
  const GptConfig returned = again.canonical();
  const GptConfig wanted = comparable(given);
  const GptConfig read = comparable(returned);
  Refusal refusal;
  for (const GptConfigKey& key : gpt_config_keys()) {
    if (!has_default(key, given, returned) && !is_close(key, wanted, read, tolerance)) {
      refusal.text = refusal.keys == 0 ? difference(key, wanted, read, reader) : refusal.text;
      ++refusal.keys;
    }
  }
  return refusal;
}

}  // namespace

GptConfig spelled_out(const GptConfig& given) {
  GptConfig config = given.canonical();
  const BlockPlan plan = block_plan(config, 0);
  config.qkv_bias = plan.qkv_bias;
  config.attention_output_bias = plan.attention_output_bias;
  config.mlp_bias = plan.mlp_bias;
  // Without effect, if norms have no bias.
  config.bias = config.bias && config.norm_type == NormKind::layer && config.norm_weights;
  for (const GptConfigKey& key : gpt_config_keys()) {
    visit_value(key, config, [&]<class T>(T& value) {
      if constexpr (std::is_same_v<T, Index> || std::is_same_v<T, double>) {
        const bool is_default = key.same_as_default != nullptr && value == 0;
        value = is_default ? static_cast<T>(key.same_as_default(config)) : value;
      }
    });
  }
  if (!config.key_groups.empty()) {
    config.n_kv_head = 0;
  }
  const auto layers = static_cast<std::size_t>(config.n_layer);
  config.windows.resize(layers, 0);
  config.rope_per_layer.resize(layers, 1);
  return config;
}

Refusal round_trip_refusal(const GptConfig& config, double tolerance, std::string_view reader,
                           const std::function<GptConfig()>& written_and_read) {
  try {
    return compared(config, written_and_read(), tolerance, reader);
  } catch (const Error& error) {
    return {concat_text("the model cannot be expressed: ", reader, ": ", error.what()),
            gpt_config_keys().size()};
  }
}

}  // namespace headlight
