#include "interpret/effects/ablation_walk.h"

#include <cmath>
#include <numeric>

namespace headlight {
namespace {

void append(const std::vector<double>& from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::vector<double> AblationWalk::measured(const ForwardReplay& replay, const Tensor& ends) const {
  if (metric_ == MetricKind::kl) {
    return replay.sums_of(replay.divergences_of(ends));
  }
  std::vector<double> values = replay.token_losses_of(ends);
  const std::int32_t* targets = replay.batch().targets.data<std::int32_t>();
  for (std::size_t row = 0; row < values.size() && metric_ != MetricKind::loss; ++row) {
    const bool is_probability = metric_ == MetricKind::probability;
    values[row] = targets[row] == kIgnoreTarget ? 0
                  : is_probability              ? std::exp(-values[row])
                                                : -values[row];
  }
  return replay.sums_of(values);
}

void AblationWalk::measure_batch(Index index, std::vector<AblationExperiment>& experiments,
                                 const Observer& observer) {
  const ForwardReplay replay(model_, batches_.batch(index));
  append(measured(replay, replay.ends()), base_);
  append(target_counts(replay.batch()), targets_);
  observer.prepare(replay, index);
  const auto all = static_cast<double>(batches_.count() * std::ssize(experiments));
  auto done = static_cast<double>(index * std::ssize(experiments));
  for (AblationExperiment& experiment : experiments) {
    append(measured(replay, replay.ends(experiment.first_layer, *experiment.hook)),
           experiment.losses);
    observer.progress(++done / all);
  }
}

void AblationWalk::run(std::vector<AblationExperiment>& experiments, const Observer& observer) {
  base_.clear();
  targets_.clear();
  std::vector<std::vector<double>*> measured{&base_, &targets_};
  for (AblationExperiment& experiment : experiments) {
    measured.push_back(&experiment.losses);
  }
  for (Index i = 0; i < batches_.count(); ++i) {
    if (i % processes_.count() == processes_.rank()) {
      measure_batch(i, experiments, observer);
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
}

Index AblationWalk::tokens() const {
  return static_cast<Index>(std::accumulate(targets_.begin(), targets_.end(), 0.0));
}

std::vector<DocumentSum> AblationWalk::weighted(const std::vector<double>& sums) const {
  std::vector<DocumentSum> documents;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    documents.push_back({sums[d], targets_[d]});
  }
  return documents;
}

Interval AblationWalk::mean(const std::vector<double>& sums) const {
  return bootstrap_mean(weighted(sums), bootstrap_);
}

std::vector<Interval> AblationWalk::rises(
    const std::vector<AblationExperiment>& experiments) const {
  std::vector<std::vector<DocumentSum>> measures;
  for (const AblationExperiment& experiment : experiments) {
    std::vector<double> rises = experiment.losses;
    for (std::size_t d = 0; d < rises.size(); ++d) {
      rises[d] -= base_[d];
    }
    measures.push_back(weighted(rises));
  }
  return bootstrap_means(measures, bootstrap_);
}

}  // namespace headlight
