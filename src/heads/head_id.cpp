#include "headlight/heads/head_id.h"

#include "headlight/base/error.h"

namespace headlight {
namespace {

// "0 to 3", or "0, 2 and 5" of a layer that lost some.
std::string numbers_text(const GptConfig& config, Index layer) {
  const Index count = config.heads(layer);
  if (config.head_numbers.empty()) {
    return concat_text("0 to ", count - 1);
  }
  std::string text;
  for (Index place = 0; place < count; ++place) {
    text += place == 0 ? "" : place + 1 == count ? " and " : ", ";
    text += std::to_string(config.head_number(layer, place));
  }
  return text;
}

}  // namespace

std::string head_name(const HeadId& id) { return concat_text(id.layer, ".", id.head); }

Index place_of(const HeadId& id, const GptConfig& config) {
  require(id.layer >= 0 && id.layer < config.n_layer, "heads: the model has layers 0 to ",
          config.n_layer - 1, ", got ", head_name(id));
  const std::optional<Index> place = config.head_place(id.layer, id.head);
  require(place.has_value(), "heads: layer ", id.layer, " has heads ",
          numbers_text(config, id.layer), ", got ", head_name(id));
  return *place;
}

}  // namespace headlight
