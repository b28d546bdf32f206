#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "interpret/circuit/edge_cut.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/effects/forward_replay.h"

namespace headlight {

// The pairs of texts with their activations. All clean texts are one batch, and so are all corrupt
// ones.
class CircuitTexts {
 public:
  // The model, the graph and the tasks must outlive it. `memory`: of ForwardReplay.
  CircuitTexts(const Gpt& model, const CircuitGraph& graph, const std::vector<PatchingTask>& tasks,
               Index memory);

  std::size_t pairs() const { return tasks_.size(); }
  // Differences [pairs] on the clean and the corrupt texts, and with all edges cut.
  const std::vector<double>& clean() const { return clean_; }
  const std::vector<double>& corrupt() const { return corrupt_; }
  const std::vector<double>& empty() const { return empty_; }
  // Returns whether the rows of all pairs are at the same positions.
  bool are_alike() const;
  // Cut edges carry the mean over all pairs, or the values of the next pair, of pairs that are
  // alike. Throws Error about "pairs" if they leave the metric of a pair as it is.
  void cut_to_mean();
  void cut_to_next();

  // Adds the edges' shares of the difference, summed over the pairs, [receivers] of [senders].
  void add_scores(Index steps, std::vector<std::vector<double>>& scores,
                  const std::function<void(double share)>& progress) const;

  // Adds masks of the edges, 0 to 1. In `steps` steps of AdamW they learn to keep the difference
  // after the clean texts (mean squared error) while ever fewer edges stay open. Not for post-norm
  // models.
  void add_masks(Index steps, std::vector<std::vector<double>>& scores,
                 const std::function<void(double share)>& progress) const;
  // Squared error of a pair's difference on the clean text with masked edges; 1 is the difference
  // between no edges and all. A scalar with gradients for the masks.
  Tensor masked_error(const EdgeMasks& masks, std::size_t pair) const;
  // Logits of masks of all edges that are nearly open.
  EdgeMasks open_masks() const;

  // Differences [sets] of [pairs] on the clean texts with all edges cut that a set does not keep.
  std::vector<std::vector<double>> differences_with(
      std::span<const KeptEdges> sets,
      const std::function<void(double share)>& progress = [](double) {}) const;

 private:
  struct Steps;  // pairs and steps of one pass with gradients

  // Batch of `copies` copies of the texts of some pairs.
  Batch batch(std::vector<std::int32_t> PatchingTask::*text, std::size_t first, std::size_t last,
              Index copies = 1) const;
  ForwardReplay read(std::vector<std::int32_t> PatchingTask::*text, SenderRows& written);
  // Differences [copies] of [pairs] from ends [copies N, F].
  std::vector<std::vector<double>> of_ends(const Tensor& ends) const;

  void set_cut(SenderRows rows);
  void cut_to(SenderRows rows);

  // The rows of some pairs.
  SenderRows rows_of(const SenderRows& written, std::size_t first, std::size_t last) const;
  // Embeddings of some pairs, [n, C].
  Tensor embedding_of(const SenderRows& written, std::size_t first, std::size_t last) const;

  // Adds the weighted gradients of the streams that the readers of each port read, [R, n C].
  void add_gradients(const Steps& steps, std::map<PointInLayer, Tensor>& gradients) const;
  // Adds the products of the gradients of some pairs and the senders' changes.
  void add_products(std::size_t first, std::size_t last,
                    const std::map<PointInLayer, Tensor>& gradients,
                    std::vector<std::vector<double>>& scores) const;

  const Gpt& model_;
  const CircuitGraph& graph_;
  const std::vector<PatchingTask>& tasks_;
  Index memory_;
  std::vector<AnswerContrast> contrasts_;  // [pairs]
  std::vector<Index> starts_;              // first row of each pair, followed by their number
  SenderRows written_clean_;
  ForwardReplay replay_;  // of the clean texts
  std::vector<double> clean_;
  std::vector<double> corrupt_;
  std::vector<double> empty_;
  SenderRows cut_;       // values of cut edges
  Index first_ = 0;      // of the runs with cut edges: before it these are as in the clean text
  SenderRows cut_from_;  // the rows of such a run
};

}  // namespace headlight
