#include "headlight/interpret/effects/part_ablation.h"

#include <algorithm>

#include "headlight/interpret/interventions/interventions.h"
#include "interpret/effects/ablation_walk.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

constexpr const char* kParts = "parts";

// Collects all targets. Throws Error for missing targets, before any pass over the data.
std::vector<PointRange> checked_targets(const Gpt& model, const std::vector<PartSet>& parts) {
  Change all;
  for (const PartSet& part : parts) {
    all.targets.insert(all.targets.end(), part.targets.begin(), part.targets.end());
  }
  const Interventions check(model, {all}, {.about = kParts});
  return all.targets;
}

std::vector<AblationExperiment> experiments_of(const Gpt& model, const std::vector<PartSet>& parts,
                                               AblationMode mode, const PointMeans& means) {
  const ChangeKind kind = mode == AblationMode::mean ? ChangeKind::mean : ChangeKind::off;
  const Interventions::Options options{.means = &means, .about = kParts};
  std::vector<AblationExperiment> experiments;
  for (const PartSet& part : parts) {
    const Change change{.kind = kind, .targets = part.targets, .positions = part.positions};
    experiments.push_back({first_layer(part, model),
                           std::make_unique<Interventions>(model, std::vector{change}, options)});
  }
  return experiments;
}

std::vector<PartSet> each_head(const Gpt& model, const NumberRange& layers) {
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
    parts.push_back({.name = name, .targets = parse_targets(kParts, name).targets});
  }
  return parts;
}

std::vector<PartSet> each_neuron(const Gpt& model, const NumberRange& layers,
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
NumberRange layers_of(const Gpt& model, const NumberRange& layers) {
  const Index last = model.config().n_layer - 1;
  const NumberRange known{layers.first, layers.last.value_or(last)};
  require_value(known.first <= *known.last && *known.last <= last, "layers",
                "the model has layers 0 to ", last, ", got ", range_text(layers));
  return known;
}

}  // namespace

Index first_layer(const PartSet& part, const Gpt& model) {
  Index first = model.config().n_layer;
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

PartAblationResult ablate_parts(const Gpt& model, const TokenDataset& data,
                                const std::vector<PartSet>& parts, const AblationOptions& options) {
  require_value(options.mode != AblationMode::resample, "mode",
                "expected zero or mean for parts other than heads one by one, got resample");
  require_value(!parts.empty(), kParts, "expected parts to ablate, got none");
  const std::vector<PointRange> targets = checked_targets(model, parts);
  AblationWalk walk(model, data, options);
  PointMeans means;
  if (options.mode == AblationMode::mean) {
    means = mean_rows(model, walk.batches(), !data.documents && !options.masking,
                      [&](Point point, Index layer) {
                        return items_of(point) != PointItems::maps && covers(targets, point, layer);
                      });
  }
  std::vector<AblationExperiment> experiments = experiments_of(model, parts, options.mode, means);
  walk.run(experiments, {.progress = options.progress});
  const std::vector<Interval> rises = walk.rises(experiments);
  PartAblationResult result{.loss = walk.mean(walk.base()),
                            .parts = {},
                            .sequences = walk.sequences(),
                            .tokens = walk.tokens()};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result.parts.push_back({parts[i].name, rises[i]});
  }
  return result;
}

std::vector<PartSet> each_part(const Gpt& model, PartKind kind, const NumberRange& layers,
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
