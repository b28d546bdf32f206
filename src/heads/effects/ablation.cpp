#include "headlight/heads/ablation.h"

#include <algorithm>
#include <array>

#include "heads/effects/head_substitutes.h"

namespace headlight {
namespace {

// Heads that are ablated together, and what that does to every document.
struct Experiment {
  HeadSet heads;
  std::vector<double> losses;  // sums over the targets of each document
};

class Ablation {
 public:
  Ablation(const LanguageModel& model, const TokenDataset& data, const AblationOptions& options)
      : model_(model),
        batches_(data, {.batch_size = options.batch_size, .block_size = model.block_size()}),
        substitutes_(model, batches_, options.mode) {}

  // Fills in the losses of the experiments and those of the whole model.
  void run(std::vector<Experiment>& experiments) {
    base_.clear();
    targets_.clear();
    for (Index i = 0; i < batches_.count(); ++i) {
      const ForwardReplay replay(model_, batches_.batch(i));
      append(replay.losses(), base_);
      append(replay.targets(), targets_);
      const std::vector<Tensor> substitutes = substitutes_.for_batch(replay, i);
      for (Experiment& experiment : experiments) {
        ReplaceHeads hook(model_, experiment.heads, substitutes);
        // From the layer of the first head on.
        append(replay.losses(experiment.heads[0].layer, hook), experiment.losses);
      }
    }
  }

  const std::vector<double>& base() const { return base_; }
  const std::vector<double>& targets() const { return targets_; }

 private:
  static void append(const std::vector<double>& from, std::vector<double>& to) {
    to.insert(to.end(), from.begin(), from.end());
  }

  const LanguageModel& model_;
  SequentialBatches batches_;
  HeadSubstitutes substitutes_;
  std::vector<double> base_;     // loss of each document
  std::vector<double> targets_;  // of each document
};

// The mean over tokens of `value(document)`.
template <class Value>
Interval mean_over(const Ablation& ablation, const BootstrapOptions& bootstrap,
                   const Value& value) {
  std::vector<DocumentSum> sums;
  for (std::size_t d = 0; d < ablation.base().size(); ++d) {
    sums.push_back({value(d), ablation.targets()[d]});
  }
  return bootstrap_mean(sums, bootstrap);
}

Interval rise_of(const Experiment& experiment, const Ablation& ablation,
                 const BootstrapOptions& bootstrap) {
  return mean_over(ablation, bootstrap,
                   [&](std::size_t d) { return experiment.losses[d] - ablation.base()[d]; });
}

// The single-head experiments with the largest rise.
std::vector<std::size_t> most_important(const std::vector<HeadEffect>& effects, Index count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return effects[a].rise.mean > effects[b].rise.mean;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<PairEffect> ablate_pairs(Ablation& ablation, const std::vector<Experiment>& singles,
                                     const std::vector<std::size_t>& chosen,
                                     const BootstrapOptions& bootstrap) {
  std::vector<Experiment> pairs;
  std::vector<std::array<std::size_t, 2>> members;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = i + 1; j < chosen.size(); ++j) {
      pairs.push_back({{singles[chosen[i]].heads[0], singles[chosen[j]].heads[0]}, {}});
      members.push_back({chosen[i], chosen[j]});
    }
  }
  ablation.run(pairs);
  std::vector<PairEffect> effects;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::vector<double>& first = singles[members[p][0]].losses;
    const std::vector<double>& second = singles[members[p][1]].losses;
    effects.push_back({.first = pairs[p].heads[0],
                       .second = pairs[p].heads[1],
                       .rise = rise_of(pairs[p], ablation, bootstrap),
                       .beyond = mean_over(ablation, bootstrap, [&](std::size_t d) {
                         return pairs[p].losses[d] - first[d] - second[d] + ablation.base()[d];
                       })});
  }
  std::stable_sort(effects.begin(), effects.end(), [](const PairEffect& a, const PairEffect& b) {
    return a.beyond.mean > b.beyond.mean;
  });
  return effects;
}

}  // namespace

AblationResult ablate_heads(const LanguageModel& model, const TokenDataset& data,
                            const AblationOptions& options) {
  const HeadSet heads = options.heads.or_all(heads_of(model));
  require_value(options.pair_heads == 0 || options.pair_heads >= 2, "pairs",
                "expected 0 or at least 2 heads, got ", options.pair_heads);
  std::vector<Experiment> singles;
  for (const HeadId& id : heads) {
    singles.push_back({{id}, {}});
  }
  Ablation ablation(model, data, options);
  ablation.run(singles);
  AblationResult result;
  result.loss =
      mean_over(ablation, options.bootstrap, [&](std::size_t d) { return ablation.base()[d]; });
  for (const Experiment& single : singles) {
    result.heads.push_back({single.heads[0], rise_of(single, ablation, options.bootstrap)});
  }
  if (options.pair_heads > 0) {
    result.pairs = ablate_pairs(ablation, singles, most_important(result.heads, options.pair_heads),
                                options.bootstrap);
  }
  result.sequences = static_cast<Index>(ablation.base().size());
  for (const double targets : ablation.targets()) {
    result.tokens += static_cast<Index>(targets);
  }
  return result;
}

}  // namespace headlight
