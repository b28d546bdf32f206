#include <algorithm>

#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/interventions/interventions.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

std::vector<PartSet> each_head(const LanguageModel& model, const NumberRange& layers) {
  std::vector<PartSet> parts;
  for (const HeadId& id : HeadSet::all(heads_of(model))) {
    if (layers.contains(id.layer)) {
      parts.push_back(head_part(id));
    }
  }
  return parts;
}

std::vector<PartSet> each_layer(PartKind kind, const NumberRange& layers) {
  std::vector<PartSet> parts;
  for (Index layer = layers.first; layer <= *layers.last; ++layer) {
    const std::string name = concat_text(name_of(kind), ".", layer);
    parts.push_back({.name = name, .targets = parse_targets("parts", name).targets});
  }
  return parts;
}

std::vector<PartSet> each_neuron(const LanguageModel& model, const NumberRange& layers,
                                 const NumberRange& items) {
  const PointValues found = values_of(model, make_batch({{0}}), [&](Point point, Index layer) {
    return point == Point::mlp_post && layers.contains(layer);
  });
  std::vector<PartSet> parts;
  for (Index layer = layers.first; layer <= *layers.last; ++layer) {
    const auto values = found.find({Point::mlp_post, layer});
    require_value(values != found.end(), "by", "this model does not compute mlp_post");
    const Index count = values->second.size(1);
    const Index last = items.last.value_or(count - 1);
    require_value(items.first <= last && last < count, "items", "layer ", layer,
                  " has neurons 0 to ", count - 1, ", got ", range_text(items));
    for (Index neuron = items.first; neuron <= last; ++neuron) {
      parts.push_back(
          {.name = concat_text("neuron.", layer, ".", neuron),
           .targets = {{Point::mlp_post, {layer, layer}, NumberRange{neuron, neuron}}}});
    }
  }
  return parts;
}

// Returns the range with its last layer.
NumberRange layers_of(const LanguageModel& model, const NumberRange& layers) {
  const Index last = heads_of(model).layers() - 1;
  const NumberRange known{layers.first, layers.last.value_or(last)};
  require_value(known.first <= *known.last && *known.last <= last, "layers",
                "the model has layers 0 to ", last, ", got ", range_text(layers));
  return known;
}

}  // namespace

Index first_layer(const PartSet& part, const LanguageModel& model) {
  Index first = model.heads().layers();
  for (const PointRange& target : part.targets) {
    if (is_in_layer(target.point)) {
      first = std::min(first, target.layers.first);
    } else if (target.point == Point::embed) {
      first = -1;
    }
  }
  return first;
}

PartSet head_part(const HeadId& id) {
  return {.name = head_name(id),
          .targets = {{Point::z, {id.layer, id.layer}, NumberRange{id.head, id.head}}}};
}

std::vector<PartSet> each_part(const LanguageModel& model, PartKind kind, const NumberRange& layers,
                               const NumberRange& items) {
  const NumberRange known = layers_of(model, layers);
  switch (kind) {
    case PartKind::head:
      return each_head(model, known);
    case PartKind::neuron:
      return each_neuron(model, known, items);
    default:
      return each_layer(kind, known);
  }
}

}  // namespace headlight
