#include "heads/scores/score_sums.h"

#include "kernels/parallel.h"

namespace headlight {
namespace {

void add_scaled(const DetectorScores& from, double factor, DetectorScores& to) {
  to.previous_token_head += factor * from.previous_token_head;
  to.duplicate_token_head += factor * from.duplicate_token_head;
  to.induction_head += factor * from.induction_head;
}

}  // namespace

ScoreSums::ScoreSums(std::vector<HeadId> heads, const Options& options)
    : heads_(std::move(heads)),
      options_(options),
      groups_(heads_.size() * score_definitions().size()),
      offsets_(heads_.size(), std::vector<double>(static_cast<std::size_t>(options.longest))),
      detector_(heads_.size()),
      detected_(heads_.size()) {
  for (std::size_t head = 0; head < heads_.size(); ++head) {
    for (std::size_t score = 0; score < score_definitions().size(); ++score) {
      const ScoreDefinition& definition = score_definitions()[score];
      if (definition.measure != nullptr && definition.source == options.source) {
        groups_[head * score_definitions().size() + score].resize(options.groups);
      }
    }
  }
}

ScoreSums::MapSums ScoreSums::measure(const HeadMap& map, std::vector<double>& offsets) const {
  MapSums sums;
  for (const ScoreDefinition& definition : score_definitions()) {
    const bool wanted = definition.measure != nullptr && definition.source == options_.source;
    sums.scores.push_back(wanted ? definition.measure(map) : DocumentSum{});
  }
  if (options_.source == ScoreSource::text) {
    for (Index query = 1; query < map.length(); ++query) {
      offsets[static_cast<std::size_t>(query - map.top_key(query))] += 1;
    }
    sums.detector = detector_scores(map, options_.detector);
  }
  return sums;
}

void ScoreSums::keep(std::size_t head, const MapSums& sums, const MeasuredSequence& sequence) {
  for (std::size_t score = 0; score < sums.scores.size(); ++score) {
    std::vector<DocumentSum>& groups = groups_[head * sums.scores.size() + score];
    if (!groups.empty()) {
      groups[sequence.group].sum += sums.scores[score].sum;
      groups[sequence.group].weight += sums.scores[score].weight;
    }
  }
  if (sequence.facts.length() >= 2) {
    add_scaled(sums.detector.mul, 1, detector_[head].mul);
    add_scaled(sums.detector.abs, 1, detector_[head].abs);
    detected_[head] += 1;
  }
}

void ScoreSums::add(Index layer, const std::vector<Tensor>& weights,
                    const std::vector<MeasuredSequence>& batch) {
  // A head is one thread's from the first sequence to the last, so that sums have a fixed order.
  kernels::parallel_for(static_cast<Index>(heads_.size()), 1, [&](Index begin, Index) {
    const auto head = static_cast<std::size_t>(begin);
    if (heads_[head].layer != layer) {
      return;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Index length = batch[i].facts.length();
      const HeadMap map(weights[i].data<float>() + heads_[head].head * length * length,
                        batch[i].facts);
      keep(head, measure(map, offsets_[head]), batch[i]);
    }
  });
}

DetectorPair ScoreSums::detector(std::size_t head) const {
  DetectorPair mean;
  if (detected_[head] > 0) {
    add_scaled(detector_[head].mul, 1 / detected_[head], mean.mul);
    add_scaled(detector_[head].abs, 1 / detected_[head], mean.abs);
  }
  return mean;
}

}  // namespace headlight
