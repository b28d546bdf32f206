#include "headlight/nn/trained_parts.h"

#include <limits>
#include <optional>
#include <string_view>

#include "base/strings/read_number.h"
#include "base/strings/split.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::string_view kLayer = "layer.";
constexpr std::string_view kLayerParameter = "h.";

struct LayerRange {
  Index first = 0;
  Index last = 0;
};

// Reads "3", "2-5" or "8-".
std::optional<LayerRange> read_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = read_number<Index>(text.substr(0, dash));
  if (!first || dash == text.npos) {
    return first ? std::optional(LayerRange{*first, *first}) : std::nullopt;
  }
  const std::string_view end = text.substr(dash + 1);
  const auto last =
      end.empty() ? std::optional(std::numeric_limits<Index>::max()) : read_number<Index>(end);
  return last ? std::optional(LayerRange{*first, *last}) : std::nullopt;
}

bool is_in_part(std::string_view parameter, const std::string& part) {
  if (part.starts_with(kLayer)) {
    const auto range = read_range(std::string_view(part).substr(kLayer.size()));
    const auto layer = layer_of(parameter);
    return range && layer && range->first <= *layer && *layer <= range->last;
  }
  const bool is_whole_name = parameter == part || parameter.starts_with(part + ".");
  return is_whole_name || parameter.find("." + part + ".") != parameter.npos;
}

}  // namespace

std::optional<Index> layer_of(std::string_view parameter) {
  if (!parameter.starts_with(kLayerParameter)) {
    return std::nullopt;
  }
  parameter.remove_prefix(kLayerParameter.size());
  return read_number<Index>(parameter.substr(0, parameter.find('.')));
}

std::vector<bool> in_trained_parts(const std::vector<std::string>& parameters,
                                   const std::string& list) {
  std::vector<bool> is_trained(parameters.size(), false);
  for (const std::string& part : split_at_commas(list)) {
    bool is_known = false;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const bool fits = is_in_part(parameters[i], part);
      is_known = is_known || fits;
      is_trained[i] = is_trained[i] || fits;
    }
    require_value(
        is_known, "train",
        "expected parts of the model, such as layer.8-, attn or mlp.c_proj, or without "
        "lora_rank also ln_f or wte (and so the head of a model with tied weights), got '",
        part, "'");
  }
  return is_trained;
}

void train_only(Module& model, const std::string& list) {
  NamedTensors parameters = model.parameters();
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) {
    names.push_back(name);
  }
  const std::vector<bool> is_trained = in_trained_parts(names, list);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].second.set_requires_grad(is_trained[i]);
  }
}

}  // namespace headlight
