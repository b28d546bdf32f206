#include "formats/families/layer_keys.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr const char* kWindowKey = "sliding_window";
constexpr const char* kTypesKey = "layer_types";

// Returns the window of each layer, 0 for none. layer_types decides if present.
std::vector<Index> read_windows(const ConfigReader& reader, Index layers, Index window,
                                const std::function<bool(Index)>& is_default) {
  const Json::List types = reader.list(kTypesKey, &Json::is_string, "texts");
  const bool has_types = reader.find(kTypesKey) != nullptr;
  require_value(!has_types || types.size() == static_cast<std::size_t>(layers), kTypesKey,
                "expected ", static_cast<std::size_t>(layers), " texts, got ", types.size());
  std::vector<Index> windows;
  for (Index layer = 0; layer < layers; ++layer) {
    bool is_sliding = is_default(layer);
    if (has_types) {
      const std::string& type = types[static_cast<std::size_t>(layer)].text();
      is_sliding = type == kSlidingAttention;
      require_value((is_sliding && window > 0) || type == kFullAttention, kTypesKey, "expected ",
                    kFullAttention,
                    window > 0 ? " or sliding_attention" : ", as there is no window", ", got ",
                    in_quotes(type));
    }
    windows.push_back(is_sliding ? window : 0);
  }
  return windows;
}

}  // namespace

Index common_window(const GptConfig& config) {
  const std::vector<Index>& windows = config.windows;
  const Index widest = windows.empty() ? 0 : *std::max_element(windows.begin(), windows.end());
  const bool is_common = std::all_of(windows.begin(), windows.end(),
                                     [&](Index window) { return window == 0 || window == widest; });
  return is_common ? widest : 0;
}

// While keys are read, the configuration is not complete enough for block_plan().
bool has_window(const GptConfig& config, Index layer) {
  return !config.windows.empty() && config.windows[static_cast<std::size_t>(layer)] > 0;
}

Index window_key(const ConfigKeys& keys, const GptConfig& config, Index fallback,
                 const Json& none) {
  Index window = common_window(config);
  if (keys.writes()) {
    keys.unread(kWindowKey, window > 0 ? Json(window) : none);
  } else {
    keys.or_null().size(kWindowKey, window, fallback);
  }
  return window;
}

void layer_types(const ConfigKeys& keys, GptConfig& config, Index window,
                 const std::function<bool(Index)>& is_sliding) {
  if (!keys.writes()) {
    config.windows = read_windows(*keys.reader(), config.n_layer, window, is_sliding);
    return;
  }
  Json types;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    types.push_back(has_window(config, layer) ? kSlidingAttention : kFullAttention);
  }
  keys.unread(kTypesKey, types);
}

void own_dropouts(const ConfigKeys& keys, GptConfig& config, bool needed) {
  if (!keys.writes() || needed) {
    keys.number("headlight_residual_dropout", config.residual_dropout, config.residual_dropout);
    keys.number("headlight_embedding_dropout", config.embedding_dropout, config.embedding_dropout);
  }
}

std::vector<StoredTensor> named_tensors(const Weight& weight, const GptConfig& config,
                                        std::string_view layers, std::span<const PartNames> names,
                                        std::string_view PartNames::*column) {
  const auto found = std::ranges::find(names, weight.part, &PartNames::part);
  if (found == names.end()) {
    return {{.name = weight.name, .rows = weight.shape[0]}};
  }
  const std::string layer = weight.layer == kNoLayer ? "" : concat_text(layers, weight.layer, ".");
  std::vector<StoredTensor> tensors;
  for (const std::string_view name : words_of((*found).*column)) {
    tensors.push_back({.name = concat_text(layer, name, weight.is_bias ? ".bias" : ".weight"),
                       .rows = weight.shape[0]});
  }
  for (std::size_t part = 0; tensors.size() == 3 && part < 3; ++part) {
    const AttentionPlan plan = block_plan(config, weight.layer).attention;
    tensors[part].rows = plan.part_heads(static_cast<Index>(part)) * plan.head_width;
  }
  return tensors;
}

}  // namespace headlight
