#include "headlight/heads/effects/ablation.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "heads/effects/ablation_walk.h"
#include "heads/effects/head_substitutes.h"

namespace headlight {
namespace {

// Ablation experiments on heads. Each run() is one pass over the data.
class Ablation {
 public:
  Ablation(const LanguageModel& model, const TokenDataset& data, const AblationOptions& options)
      : model_(model),
        walk_(model, data, options),
        substitutes_(model, walk_.batches(), options.mode) {}

  // Runs one experiment for each set of heads, all heads of a set ablated together.
  std::vector<AblationExperiment> run(const std::vector<HeadSet>& sets) {
    std::vector<AblationExperiment> experiments;
    for (const HeadSet& heads : sets) {
      experiments.push_back(
          {heads[0].layer, std::make_unique<ReplaceHeads>(model_, heads, of_batch_)});
    }
    walk_.run(experiments, {.prepare = [&](const ForwardReplay& replay, Index batch) {
                of_batch_ = substitutes_.for_batch(replay, batch);
              }});
    return experiments;
  }

  const AblationWalk& walk() const { return walk_; }

 private:
  const LanguageModel& model_;
  AblationWalk walk_;
  HeadSubstitutes substitutes_;
  std::vector<Tensor> of_batch_;
};

// Indices of the `count` single-head experiments with the largest rise, ascending.
std::vector<std::size_t> most_important(const std::vector<HeadEffect>& effects, Index count) {
  std::vector<std::size_t> order(effects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return effects[a].rise.mean > effects[b].rise.mean;
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
                                     const std::vector<std::size_t>& chosen) {
  std::vector<HeadSet> pairs;
  std::vector<std::array<std::size_t, 2>> members;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = i + 1; j < chosen.size(); ++j) {
      pairs.push_back({heads[chosen[i]][0], heads[chosen[j]][0]});
      members.push_back({chosen[i], chosen[j]});
    }
  }
  const std::vector<AblationExperiment> experiments = ablation.run(pairs);
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
  require_value(options.pair_heads == 0 || options.pair_heads >= 2, "pairs",
                "expected 0 or at least 2 heads, got ", options.pair_heads);
  std::vector<HeadSet> heads;
  for (const HeadId& id : options.heads.or_all(heads_of(model))) {
    heads.push_back({id});
  }
  Ablation ablation(model, data, options);
  const std::vector<AblationExperiment> singles = ablation.run(heads);
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
    result.pairs =
        ablate_pairs(ablation, heads, singles, most_important(result.heads, options.pair_heads));
  }
  return result;
}

}  // namespace headlight
