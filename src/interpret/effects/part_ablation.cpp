#include "headlight/interpret/effects/part_ablation.h"

#include <algorithm>

#include "headlight/interpret/interventions/interventions.h"
#include "interpret/effects/ablation_walk.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

constexpr const char* kOff = "off";
constexpr const char* kEach = "each";

// Collects all targets. Throws Error for missing targets, before any pass over the data.
std::vector<PointRange> checked_targets(const Gpt& model, const std::vector<PartSet>& parts) {
  Change all;
  for (const PartSet& part : parts) {
    all.targets.insert(all.targets.end(), part.targets.begin(), part.targets.end());
  }
  const Interventions check(model, {all}, {.about = kOff});
  return all.targets;
}

// Lowest layer that the part changes; -1: the embedding.
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

std::vector<AblationExperiment> experiments_of(const Gpt& model, const std::vector<PartSet>& parts,
                                               AblationMode mode, const PointMeans& means) {
  const ChangeKind kind = mode == AblationMode::mean ? ChangeKind::mean : ChangeKind::off;
  const Interventions::Options options{.means = &means, .about = kOff};
  std::vector<AblationExperiment> experiments;
  for (const PartSet& part : parts) {
    const Change change{.kind = kind, .targets = part.targets, .positions = part.positions};
    experiments.push_back({first_layer(part, model),
                           std::make_unique<Interventions>(model, std::vector{change}, options)});
  }
  return experiments;
}

std::vector<PartSet> each_layer(std::string_view kind, Index layers) {
  std::vector<PartSet> parts;
  for (Index layer = 0; layer < layers; ++layer) {
    const std::string name = concat_text(kind, ".", layer);
    parts.push_back({.name = name, .targets = parse_targets(kEach, name).targets});
  }
  return parts;
}

std::vector<PartSet> each_neuron(const Gpt& model, std::string_view kind) {
  const PointRange range = parse_point(kEach, kind);
  const Index layer = range.layers.first;
  require_value(range.layers.last == layer, kEach, "expected the neurons of one layer, got ", kind);
  // Checks the whole range, so that a missing layer or neuron is an error.
  const Interventions check(model, {Change{.targets = {range}}}, {.about = kEach});
  const PointValues found = values_of(model, make_batch({{0}}), [&](Point point, Index at) {
    return point == Point::mlp_post && at == layer;
  });
  const Index neurons = found.at({Point::mlp_post, layer}).size(1);
  const NumberRange items = range.items.value_or(NumberRange{});
  std::vector<PartSet> parts;
  for (Index neuron = items.first; neuron <= items.last.value_or(neurons - 1); ++neuron) {
    parts.push_back({.name = concat_text("neuron.", layer, ".", neuron),
                     .targets = {{Point::mlp_post, {layer, layer}, NumberRange{neuron, neuron}}}});
  }
  return parts;
}

}  // namespace

PartAblationResult ablate_parts(const Gpt& model, const TokenDataset& data,
                                const std::vector<PartSet>& parts,
                                const PartAblationOptions& options) {
  require_value(options.mode != AblationMode::resample, "mode",
                "expected zero or mean for parts other than heads one by one, got resample");
  require_value(!parts.empty(), kOff, "expected parts to ablate, got none");
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

std::vector<PartSet> each_part(const Gpt& model, std::string_view kind) {
  if (kind.starts_with("neuron.")) {
    return each_neuron(model, kind);
  }
  require_value(kind == "mlp" || kind == "attn" || kind == "layer", kEach,
                "expected mlp, attn, layer or neuron.L, got '", kind, "'");
  return each_layer(kind, model.config().n_layer);
}

}  // namespace headlight
