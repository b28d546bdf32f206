#include "headlight/interpret/prune_plan.h"

#include <algorithm>
#include <memory>

#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/prune.h"
#include "interpret/layer_maps.h"

namespace headlight {
namespace {

double mean_loss(const Gpt& model, const TokenDataset& data, Index batch_size,
                 const std::function<void()>& after_batch) {
  const NoGrad no_grad;
  const SequentialBatches batches(
      data, {.batch_size = batch_size, .block_size = model.config().block_size});
  double sum = 0;
  double targets = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    sum += model.loss(batch, {}, {.normalizer = 1}).item();
    targets += static_cast<double>(batch.target_count);
    after_batch();
  }
  return sum / targets;
}

struct Ranked {
  HeadId head;
  double importance;
};

// Returns the remaining heads, least important first.
std::vector<Ranked> rank(const Gpt& model, const TokenDataset& data,
                         const PrunePlanOptions& options,
                         const std::function<void(double)>& progress) {
  std::vector<Ranked> ranked;
  if (options.ranking == PruneRanking::ablation) {
    AblationOptions ablation{.batch_size = options.batch_size};
    ablation.bootstrap.resamples = 1;  // only the means are used
    ablation.progress = progress;
    const AblationResult result = ablate(model, data, each_part(model, PartKind::head), ablation);
    for (const HeadId& head : HeadSet::all(model.heads())) {
      ranked.push_back({head, result.rises[ranked.size()].mean});
    }
  } else {
    ImportanceOptions importance{.batch_size = options.batch_size};
    importance.bootstrap.resamples = 1;
    importance.progress = progress;
    for (const HeadImportance& head : head_importance(model, data, importance).heads) {
      ranked.push_back({head.head, head.sensitivity.mean});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.importance < b.importance; });
  return ranked;
}

class Planner {
 public:
  Planner(const Gpt& model, const TokenDataset& data, const PrunePlanOptions& options)
      : model_(&model), data_(data), options_(options) {
    require_value(options.keep >= 0 && options.keep <= heads(), "keep", "expected 0 to ", heads(),
                  " heads, got ", options.keep);
    require_value(options.largest_rise >= 0, "until_loss", "expected a rise from 0, got ",
                  options.largest_rise);
    require_value(options.rounds >= 1, "rounds", "expected at least 1, got ", options.rounds);
    add_point(std::nullopt);
  }

  PrunePlan run() {
    const Index least = std::max(options_.keep, model_->config().n_layer);
    const Index all = std::max<Index>(0, heads() - least);
    for (Index round = 0; round < options_.rounds && !done_; ++round) {
      const Index share = all * (round + 1) / options_.rounds - all * round / options_.rounds;
      if (share > 0) {
        remove(share);
      }
    }
    return plan_;
  }

 private:
  Index heads() const { return std::ssize(HeadSet::all(model_->heads())); }

  void remove(Index count) {
    const Index whole = std::max<Index>(1, plan_.points.front().kept - options_.keep);
    const auto progress = [&](double ranked) {
      const auto removed = static_cast<double>(plan_.points.front().kept - heads());
      const double now = ranked * static_cast<double>(count);
      share_ = std::min(1.0, (removed + now) / static_cast<double>(whole));
      options_.progress(share_);
    };
    for (const Ranked& head : rank(*model_, data_, options_, progress)) {
      if (count == 0 || done_) {
        return;
      }
      if (model_->heads().count(head.head.layer) > 1) {
        pruned_ = prune_heads(*model_, {head.head});
        model_ = pruned_.get();
        add_point(head.head);
        progress(0);
        --count;
      }
    }
  }

  void add_point(const std::optional<HeadId>& removed) {
    const double loss =
        mean_loss(*model_, data_, options_.batch_size, [&] { options_.progress(share_); });
    plan_.points.push_back({heads(), loss, removed});
    done_ = loss > plan_.points.front().loss + options_.largest_rise;
    if (removed && !done_) {
      plan_.heads.push_back(*removed);
    }
  }

  const Gpt* model_;             // with the heads that are left; they keep their numbers
  std::unique_ptr<Gpt> pruned_;  // null until the first removal
  const TokenDataset& data_;
  const PrunePlanOptions& options_;
  PrunePlan plan_;
  double share_ = 0;   // last progress; repeated often, because progress can interrupt
  bool done_ = false;  // the loss has risen too far
};

}  // namespace

PrunePlan plan_pruning(const Gpt& model, const TokenDataset& data,
                       const PrunePlanOptions& options) {
  require_causal(model);
  const Index heads = std::ssize(HeadSet::all(model.heads()));
  require_value(options.keep >= 0 && options.keep <= heads, "keep", "expected 0 to ", heads,
                " heads, got ", options.keep);
  return Planner(model, data, options).run();
}

}  // namespace headlight
