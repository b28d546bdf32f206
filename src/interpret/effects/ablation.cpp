#include "headlight/interpret/effects/ablation.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "interpret/effects/ablation_walk.h"
#include "interpret/effects/replace_heads.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Values of each sequence from the next sequence at the same position; a shorter one starts again.
// The last sequence of the batch takes them from the first one of the following batch.
Tensor shifted(const ForwardReplay& replay, const ForwardReplay& following, std::size_t layer) {
  const Batch& batch = replay.batch();
  Tensor moved = Tensor::empty(replay.outputs()[layer].shape(), replay.outputs()[layer].dtype());
  const auto count = static_cast<std::size_t>(batch.sequence_count());
  for (std::size_t b = 0; b < count; ++b) {
    const ForwardReplay& from = b + 1 < count ? replay : following;
    const Tensor& rows = from.outputs()[layer];
    const std::size_t source = b + 1 < count ? b + 1 : 0;
    const Index first = from.batch().offsets[source];
    const Index length = from.batch().offsets[source + 1] - first;
    for (Index n = batch.offsets[b]; n < batch.offsets[b + 1]; ++n) {
      const Index row = first + (n - batch.offsets[b]) % length;
      moved.strided_view({rows.size(1)}, {1}, n * rows.size(1))
          .copy_from(rows.strided_view({rows.size(1)}, {1}, row * rows.size(1)));
    }
  }
  return moved;
}

// Ablation experiments on heads. Each run() is one pass over the data.
class Ablation {
 public:
  Ablation(const LanguageModel& model, const TokenDataset& data, const AblationOptions& options)
      : model_(model), mode_(options.mode), walk_(model, data, options) {
    options.progress(0);
    if (mode_ == AblationMode::mean) {
      means_ = mean_rows(model, walk_.batches(), !data.documents && !options.masking,
                         [](Point point, Index) { return point == Point::z; });
    }
  }

  // Runs one experiment for each set of heads, all heads of a set ablated together.
  std::vector<AblationExperiment> run(const std::vector<HeadSet>& sets,
                                      const std::function<void(double)>& progress) {
    std::vector<AblationExperiment> experiments;
    for (const HeadSet& heads : sets) {
      experiments.push_back(
          {heads[0].layer, std::make_unique<ReplaceHeads>(model_, heads, of_batch_)});
    }
    walk_.run(experiments, {.prepare = [&](const ForwardReplay& replay,
                                           Index batch) { of_batch_ = substitutes(replay, batch); },
                            .progress = progress});
    return experiments;
  }

  const AblationWalk& walk() const { return walk_; }

 private:
  // Substitutes for ReplaceHeads on batch `index`.
  std::vector<Tensor> substitutes(const ForwardReplay& replay, Index index) const {
    const SequentialBatches& batches = walk_.batches();
    std::vector<Tensor> result;
    if (mode_ == AblationMode::mean) {
      for (Index layer = 0; layer < std::ssize(replay.outputs()); ++layer) {
        const Tensor& mean = means_.at({Point::z, layer});
        result.push_back(mean.strided_view({replay.batch().token_count(), mean.size(0)}, {0, 1}));
      }
    } else if (mode_ == AblationMode::resample) {
      require_value(batches.count() > 1 || replay.batch().sequence_count() > 1, "mode",
                    "resample needs at least two documents or blocks, got one: use zero or mean");
      const ForwardReplay following(model_, batches.batch((index + 1) % batches.count()));
      for (std::size_t layer = 0; layer < replay.outputs().size(); ++layer) {
        result.push_back(shifted(replay, following, layer));
      }
    }
    return result;
  }

  const LanguageModel& model_;
  AblationMode mode_;
  AblationWalk walk_;
  PointValues means_;  // of z, [H D]
  std::vector<Tensor> of_batch_;
};

// Indices of the `count` single-head experiments with the largest harm, ascending.
std::vector<std::size_t> most_important(const std::vector<HeadEffect>& effects, MetricKind metric,
                                        Index count) {
  const double sign = rises_when_needed(metric) ? 1 : -1;
  std::vector<std::size_t> order(effects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sign * effects[a].rise.mean > sign * effects[b].rise.mean;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::sort(order.begin(), order.end());
  return order;
}

// Rise of a pair minus the rises of its two heads, for each document.
std::vector<double> beyond_of(const AblationExperiment& pair, const AblationExperiment& first,
                              const AblationExperiment& second, const std::vector<double>& base) {
  std::vector<double> beyond;
  for (std::size_t d = 0; d < base.size(); ++d) {
    beyond.push_back(pair.losses[d] - first.losses[d] - second.losses[d] + base[d]);
  }
  return beyond;
}

std::vector<PairEffect> ablate_pairs(Ablation& ablation, const std::vector<HeadSet>& heads,
                                     const std::vector<AblationExperiment>& singles,
                                     const std::vector<std::size_t>& chosen,
                                     const std::function<void(double)>& progress) {
  std::vector<HeadSet> pairs;
  std::vector<std::array<std::size_t, 2>> members;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = i + 1; j < chosen.size(); ++j) {
      pairs.push_back({heads[chosen[i]][0], heads[chosen[j]][0]});
      members.push_back({chosen[i], chosen[j]});
    }
  }
  const std::vector<AblationExperiment> experiments = ablation.run(pairs, progress);
  const AblationWalk& walk = ablation.walk();
  const std::vector<Interval> rises = walk.rises(experiments);
  std::vector<PairEffect> effects;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::vector<double> beyond =
        beyond_of(experiments[p], singles[members[p][0]], singles[members[p][1]], walk.base());
    effects.push_back({.first = pairs[p][0],
                       .second = pairs[p][1],
                       .rise = rises[p],
                       .beyond = walk.mean(beyond)});
  }
  std::stable_sort(effects.begin(), effects.end(), [](const PairEffect& a, const PairEffect& b) {
    return a.beyond.mean > b.beyond.mean;
  });
  return effects;
}

}  // namespace

AblationResult ablate_heads(const LanguageModel& model, const TokenDataset& data,
                            const AblationOptions& options) {
  require_value(options.pair_heads == 0 || options.pair_heads >= 2, "joint",
                "expected 0 or at least 2 heads, got ", options.pair_heads);
  std::vector<HeadSet> heads;
  for (const HeadId& id : options.heads.or_all(heads_of(model))) {
    heads.push_back({id});
  }
  Ablation ablation(model, data, options);
  const auto paired = static_cast<double>(std::min(options.pair_heads, std::ssize(heads)));
  const double pairs = paired * (paired - 1) / 2;
  const double share =
      static_cast<double>(heads.size()) / (static_cast<double>(heads.size()) + pairs);
  const std::vector<AblationExperiment> singles =
      ablation.run(heads, [&](double done) { options.progress(share * done); });
  const AblationWalk& walk = ablation.walk();
  const std::vector<Interval> rises = walk.rises(singles);
  AblationResult result{.loss = walk.mean(walk.base()),
                        .heads = {},
                        .pairs = {},
                        .sequences = walk.sequences(),
                        .tokens = walk.tokens()};
  for (std::size_t i = 0; i < heads.size(); ++i) {
    result.heads.push_back({heads[i][0], rises[i]});
  }
  if (options.pair_heads > 0) {
    result.pairs = ablate_pairs(ablation, heads, singles,
                                most_important(result.heads, options.metric, options.pair_heads),
                                [&](double done) { options.progress(share + (1 - share) * done); });
  }
  return result;
}

}  // namespace headlight
