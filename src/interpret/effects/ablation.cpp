#include "headlight/interpret/effects/ablation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/ops/layout.h"
#include "interpret/effects/forward_replay.h"
#include "interpret/layer_maps.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

constexpr const char* kParts = "parts";

void append(const std::vector<double>& from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

// Values [N, ...] of each sequence from the next sequence at the same position; a shorter one
// starts again. The last sequence of the batch takes them from the first one of the following
// batch.
Tensor shifted(const Batch& batch, const Tensor& values, const Batch& following,
               const Tensor& following_values) {
  Tensor moved = Tensor::empty(values.shape(), values.dtype());
  const Index width = values.numel() / values.size(0);
  const auto count = static_cast<std::size_t>(batch.sequence_count());
  for (std::size_t b = 0; b < count; ++b) {
    const bool is_last = b + 1 == count;
    const Tensor& rows = is_last ? following_values : values;
    const std::vector<Index>& offsets = is_last ? following.offsets : batch.offsets;
    const std::size_t source = is_last ? 0 : b + 1;
    const Index length = offsets[source + 1] - offsets[source];
    for (Index n = batch.offsets[b]; n < batch.offsets[b + 1]; ++n) {
      const Index row = offsets[source] + (n - batch.offsets[b]) % length;
      moved.strided_view({width}, {1}, n * width)
          .copy_from(rows.strided_view({width}, {1}, row * width));
    }
  }
  return moved;
}

// Some sets of parts, replaced in every pass, and the metric of these passes.
struct Experiment {
  Index first_layer = 0;  // ChangedRun::layer
  std::unique_ptr<Interventions> hook;
  std::vector<double> sums = {};  // over the targets of each document
};

// Ablation experiments over the same data. Several processes share the batches, and each ends with
// all sums.
class Ablation {
 public:
  // All must outlive it.
  Ablation(const LanguageModel& model, const TokenDataset& data, const std::vector<PartSet>& parts,
           const AblationOptions& options)
      : model_(model),
        parts_(parts),
        options_(options),
        processes_(options.processes == nullptr ? alone() : *options.processes),
        batches_(data, {.batch_size = options.batch_size, .block_size = model.block_size()},
                 options.masking) {
    check();
    options.progress(0);
    if (options.mode == AblationMode::mean) {
      substitutes_ = mean_rows(model, batches_, !data.documents && !options.masking, wants());
    }
  }

  // Runs one experiment for each group of sets, all sets of a group replaced together.
  std::vector<Experiment> run(const std::vector<std::vector<std::size_t>>& groups,
                              const std::function<void(double)>& progress);

  const std::vector<double>& base() const { return base_; }  // of the unchanged model, by document
  Index tokens() const {                                     // targets
    return static_cast<Index>(std::accumulate(targets_.begin(), targets_.end(), 0.0));
  }
  // Mean over tokens of per-document sums, [documents].
  Interval mean(const std::vector<double>& sums) const {
    return bootstrap_mean(weighted(sums), options_.bootstrap);
  }
  // Rise of each experiment's metric over the unchanged model's, paired by document.
  std::vector<Interval> rises(const std::vector<Experiment>& experiments) const;

 private:
  void check();
  std::function<bool(Point, Index)> wants() const {
    return [this](Point point, Index layer) {
      return items_of(point) != PointItems::maps && covers(targets_of_parts_, point, layer);
    };
  }
  Experiment experiment_of(const std::vector<std::size_t>& group) const;
  PointValues resampled(const Batch& batch, const Batch& following, PointValues values) const;
  std::vector<double> measured(const ForwardReplay& replay, const Tensor& ends) const;
  void measure_batch(Index index, std::vector<Experiment>& experiments,
                     const std::function<void(double)>& progress);
  std::vector<DocumentSum> weighted(const std::vector<double>& sums) const;

  const LanguageModel& model_;
  const std::vector<PartSet>& parts_;
  const AblationOptions& options_;
  Processes& processes_;
  SequentialBatches batches_;
  std::vector<PointRange> targets_of_parts_;
  PointValues shapes_;       // values of all parts in a pass of one token
  PointValues substitutes_;  // means [F] of the data; for resample, values [N, ...] of the batch
  std::vector<double> base_;
  std::vector<double> targets_;  // of each document
};

void Ablation::check() {
  require_value(!parts_.empty(), kParts, "expected parts to ablate, got none");
  require_value(options_.joint == 0 || options_.joint >= 2, "joint",
                "expected 0 or at least 2 parts, got ", options_.joint);
  model_.require_head();
  require_value(options_.masking || model_.is_causal(), "masking",
                "expected the hidden tokens, which a bidirectional model predicts");
  require_value(options_.metric != MetricKind::logit_difference, "metric",
                "logit_difference needs answers: use headlight patch, or another metric");
  for (const PartSet& part : parts_) {
    targets_of_parts_.insert(targets_of_parts_.end(), part.targets.begin(), part.targets.end());
  }
  shapes_ = values_of(
      model_, make_batch({{0}}),
      [this](Point point, Index layer) { return covers(targets_of_parts_, point, layer); }, true);
  const Interventions all(model_, {{.targets = targets_of_parts_}},
                          {.about = kParts, .shapes = &shapes_});
  require_value(options_.mode != AblationMode::resample || batches_.count() > 1 ||
                    batches_.batch(0).sequence_count() > 1,
                "mode",
                "resample needs at least two documents or blocks, got one: use zero or mean");
}

Experiment Ablation::experiment_of(const std::vector<std::size_t>& group) const {
  const ChangeKind kind = options_.mode == AblationMode::zero   ? ChangeKind::off
                          : options_.mode == AblationMode::mean ? ChangeKind::mean
                                                                : ChangeKind::resample;
  Experiment experiment{.first_layer = model_.heads().layers(), .hook = nullptr};
  std::vector<Change> changes;
  for (const std::size_t i : group) {
    const PartSet& part = parts_[i];
    changes.push_back({.kind = kind, .targets = part.targets, .positions = part.positions});
    experiment.first_layer = std::min(experiment.first_layer, first_layer(part, model_));
  }
  experiment.hook = std::make_unique<Interventions>(
      model_, changes,
      Interventions::Options{
          .means = &substitutes_, .rows = &substitutes_, .about = kParts, .shapes = &shapes_});
  return experiment;
}

// Returns the parts' values in a batch, each taken from the next sequence.
PointValues Ablation::resampled(const Batch& batch, const Batch& following,
                                PointValues values) const {
  const PointValues next = values_of(model_, following, wants(), true);
  for (auto& [spot, value] : values) {
    value = shifted(batch, value, following, next.at(spot));
  }
  return values;
}

// Sums of the metric over the targets of each document.
std::vector<double> Ablation::measured(const ForwardReplay& replay, const Tensor& ends) const {
  const MetricKind metric = options_.metric;
  if (metric == MetricKind::kl) {
    return replay.sums_of(replay.divergences_of(ends));
  }
  std::vector<double> values = replay.token_losses_of(ends);
  const std::int32_t* targets = replay.batch().targets.data<std::int32_t>();
  for (std::size_t row = 0; row < values.size() && metric != MetricKind::loss; ++row) {
    const bool is_probability = metric == MetricKind::probability;
    values[row] = targets[row] == kIgnoreTarget ? 0
                  : is_probability              ? std::exp(-values[row])
                                                : -values[row];
  }
  return replay.sums_of(values);
}

void Ablation::measure_batch(Index index, std::vector<Experiment>& experiments,
                             const std::function<void(double)>& progress) {
  const bool resamples = options_.mode == AblationMode::resample;
  KeepValues kept(wants(), nullptr, true);
  const ForwardReplay replay(model_, batches_.batch(index), resamples ? &kept : nullptr,
                             options_.memory, ForwardReplay::Runs::at_starts);
  append(measured(replay, replay.ends()), base_);
  append(target_counts(replay.batch()), targets_);
  if (resamples) {
    substitutes_ = resampled(replay.batch(), batches_.batch((index + 1) % batches_.count()),
                             std::move(kept.values));
  }
  std::vector<ChangedRun> runs;
  for (const Experiment& experiment : experiments) {
    runs.push_back({experiment.hook.get(), experiment.first_layer});
  }
  const auto all = static_cast<double>(batches_.count() * std::ssize(experiments));
  const Index rows = replay.batch().token_count();
  replay.for_ends(runs, [&](std::size_t first, const Tensor& ends) {
    for (Index begin = 0; begin < ends.size(0); begin += rows) {
      append(measured(replay, slice(ends, 0, begin, begin + rows)), experiments[first++].sums);
    }
    progress(static_cast<double>(static_cast<std::size_t>(index) * runs.size() + first) / all);
  });
}

std::vector<Experiment> Ablation::run(const std::vector<std::vector<std::size_t>>& groups,
                                      const std::function<void(double)>& progress) {
  std::vector<Experiment> experiments;
  for (const std::vector<std::size_t>& group : groups) {
    experiments.push_back(experiment_of(group));
  }
  base_.clear();
  targets_.clear();
  std::vector<std::vector<double>*> measured{&base_, &targets_};
  for (Experiment& experiment : experiments) {
    measured.push_back(&experiment.sums);
  }
  for (Index i = 0; i < batches_.count(); ++i) {
    if (i % processes_.count() == processes_.rank()) {
      measure_batch(i, experiments, progress);
    } else {
      const auto documents = static_cast<std::size_t>(batches_.batch(i).sequence_count());
      for (std::vector<double>* values : measured) {
        values->resize(values->size() + documents);  // zeros; other processes add their values
      }
    }
  }
  for (std::vector<double>* values : measured) {
    add_across(processes_, *values);
  }
  require(tokens() > 0, "the text has no token to predict");
  return experiments;
}

std::vector<DocumentSum> Ablation::weighted(const std::vector<double>& sums) const {
  std::vector<DocumentSum> documents;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    documents.push_back({sums[d], targets_[d]});
  }
  return documents;
}

std::vector<Interval> Ablation::rises(const std::vector<Experiment>& experiments) const {
  std::vector<std::vector<DocumentSum>> measures;
  for (const Experiment& experiment : experiments) {
    std::vector<double> rises = experiment.sums;
    for (std::size_t d = 0; d < rises.size(); ++d) {
      rises[d] -= base_[d];
    }
    measures.push_back(weighted(rises));
  }
  return bootstrap_means(measures, options_.bootstrap);
}

// Indices of the `count` sets with the largest harm, ascending.
std::vector<std::size_t> most_important(const std::vector<Interval>& rises, MetricKind metric,
                                        Index count) {
  const double sign = rises_when_needed(metric) ? 1 : -1;
  std::vector<std::size_t> order(rises.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sign * rises[a].mean > sign * rises[b].mean;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<PairEffect> ablate_pairs(Ablation& ablation, const std::vector<Experiment>& singles,
                                     const std::vector<std::size_t>& chosen,
                                     const std::function<void(double)>& progress) {
  std::vector<std::vector<std::size_t>> pairs;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = i + 1; j < chosen.size(); ++j) {
      pairs.push_back({chosen[i], chosen[j]});
    }
  }
  const std::vector<Experiment> experiments = ablation.run(pairs, progress);
  const std::vector<Interval> rises = ablation.rises(experiments);
  std::vector<PairEffect> effects;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::size_t first = pairs[p][0];
    const std::size_t second = pairs[p][1];
    std::vector<double> beyond = experiments[p].sums;
    for (std::size_t d = 0; d < beyond.size(); ++d) {
      beyond[d] = beyond[d] - singles[first].sums[d] - singles[second].sums[d] + ablation.base()[d];
    }
    effects.push_back({first, second, rises[p], ablation.mean(beyond)});
  }
  std::stable_sort(effects.begin(), effects.end(), [](const PairEffect& a, const PairEffect& b) {
    return a.beyond.mean > b.beyond.mean;
  });
  return effects;
}

}  // namespace

AblationResult ablate(const LanguageModel& model, const TokenDataset& data,
                      const std::vector<PartSet>& parts, const AblationOptions& options) {
  Ablation ablation(model, data, parts, options);
  const auto count = static_cast<double>(parts.size());
  const double paired = std::min(static_cast<double>(options.joint), count);
  const double share = count / (count + paired * (paired - 1) / 2);
  std::vector<std::vector<std::size_t>> each;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    each.push_back({i});
  }
  const std::vector<Experiment> singles =
      ablation.run(each, [&](double done) { options.progress(share * done); });
  AblationResult result{.loss = ablation.mean(ablation.base()),
                        .rises = ablation.rises(singles),
                        .pairs = {},
                        .sequences = std::ssize(ablation.base()),
                        .tokens = ablation.tokens()};
  if (options.joint > 0) {
    result.pairs =
        ablate_pairs(ablation, singles, most_important(result.rises, options.metric, options.joint),
                     [&](double done) { options.progress(share + (1 - share) * done); });
  }
  return result;
}

}  // namespace headlight
