#pragma once

#include <vector>

#include "heads/scores/detector.h"
#include "heads/scores/score_definitions.h"

namespace headlight {

// A sequence with the group of documents that its sums go to.
struct MeasuredSequence {
  SequenceFacts facts;
  std::size_t group = 0;
};

// Adds up what heads do, map after map, in memory that does not depend on their number.
class ScoreSums {
 public:
  struct Options {
    ScoreSource source = ScoreSource::text;  // only these scores
    std::size_t groups = 1;
    Index longest = 0;  // tokens of a sequence
    DetectorOptions detector = {};
  };

  ScoreSums(std::vector<HeadId> heads, const Options& options);

  // The weights [H, T, T] float32 of all heads of a layer for every sequence of a batch.
  void add(Index layer, const std::vector<Tensor>& weights,
           const std::vector<MeasuredSequence>& batch);

  // Of one head and score: the sums of every group.
  const std::vector<DocumentSum>& groups(std::size_t head, std::size_t score) const {
    return groups_[head * score_definitions().size() + score];
  }
  // How many queries gave each offset their largest weight, [longest]; the first token, which can
  // see nothing else, is not counted.
  const std::vector<double>& offsets(std::size_t head) const { return offsets_[head]; }
  // Means over sequences of two tokens or more.
  DetectorPair detector(std::size_t head) const;

 private:
  // What one head did on one sequence.
  struct MapSums {
    std::vector<DocumentSum> scores;
    DetectorPair detector;
  };
  MapSums measure(const HeadMap& map, std::vector<double>& offsets) const;
  void keep(std::size_t head, const MapSums& sums, const MeasuredSequence& sequence);

  std::vector<HeadId> heads_;
  Options options_;
  std::vector<std::vector<DocumentSum>> groups_;  // [heads * scores][groups]
  std::vector<std::vector<double>> offsets_;      // [heads][longest]
  std::vector<DetectorPair> detector_;            // [heads] sums over sequences
  std::vector<double> detected_;                  // [heads] sequences
};

}  // namespace headlight
