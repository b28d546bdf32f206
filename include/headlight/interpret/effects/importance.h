#pragma once

#include <functional>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/head_id.h"
#include "headlight/nn/language_model.h"

namespace headlight {

struct ImportanceOptions {
  Index batch_size = 12;
  BootstrapOptions bootstrap = {};
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// First-order importance of one head. Definitions: a gate of value 1 on the head's output, and l,
// the loss of a token in nats.
struct HeadImportance {
  HeadId head;
  // Michel, Levy and Neubig, "Are Sixteen Heads Really Better than One?", arXiv 1905.10650, eq. 2:
  // the expectation over documents of | d (sum of l over a document) / d gate |, a token.
  Interval sensitivity;
  // `sensitivity` divided by the root of the sum of squares over the heads of the layer.
  double normalized = 0;
  // First-order estimate of the rise of the loss without the head: minus the derivative, so that
  // documents may cancel out (Molchanov et al., arXiv 1611.06440, eq. 7, without absolute value).
  Interval taylor;
};

struct ImportanceResult {
  double loss = 0;  // of the data, nats a token
  std::vector<HeadImportance> heads;
  Index sequences = 0;  // documents, split at the context length
  Index tokens = 0;     // targets
};

// Runs one forward and backward pass over the data. Each document has its own gates, so the
// absolute value is per document for any batch size. Clears the gradients of the parameters.
// Throws Error for data without targets.
ImportanceResult head_importance(const LanguageModel& model, const TokenDataset& data,
                                 const ImportanceOptions& options = {});

// Pearson's correlation of lists of one size with these means; NaN if a side does not vary.
double correlation(const std::vector<double>& a, double mean_a, const std::vector<double>& b,
                   double mean_b);

// Spearman's rank correlation; ties share their mean rank. 0 if a side does not vary. Throws Error
// if the sizes differ.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headlight
