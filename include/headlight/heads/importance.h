#pragma once

#include <vector>

#include "headlight/data/dataset.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/heads/head_id.h"
#include "headlight/nn/language_model.h"

namespace headlight {

struct ImportanceOptions {
  Index batch_size = 12;
  BootstrapOptions bootstrap = {};
};

// What one head matters to first order. With a gate of value 1 on the head's output and l the loss
// of a token in nats:
struct HeadImportance {
  HeadId head;
  // Michel, Levy and Neubig, "Are Sixteen Heads Really Better than One?", arXiv 1905.10650, eq. 2:
  // the expectation over documents of | d (sum of l over a document) / d gate |, a token.
  Interval sensitivity;
  // The same divided by the root of the sum of squares over the heads of the layer.
  double normalized = 0;
  // First-order estimate of the rise of the loss when the head goes: minus the derivative, with its
  // sign, so that documents may cancel (Molchanov et al., arXiv 1611.06440, eq. 7, without their
  // absolute value).
  Interval taylor;
};

struct ImportanceResult {
  double loss = 0;  // of the data, nats a token
  std::vector<HeadImportance> heads;
  Index sequences = 0;  // documents, cut where they are longer than the block
  Index tokens = 0;     // targets
};

// One forward and backward pass over the data. Every document has gates of its own, so the
// absolute value is taken document by document, whatever the batch size. The gradients of the
// model's parameters are cleared.
// Throws Error when the data has no target.
ImportanceResult head_importance(const LanguageModel& model, const TokenDataset& data,
                                 const ImportanceOptions& options = {});

// Spearman's rank correlation, equal values sharing their mean rank; 0 when either side has no two
// different values. Throws Error when the sizes differ.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headlight
