#pragma once

#include <functional>
#include <limits>

#include "headlight/cluster/processes.h"
#include "headlight/data/batcher.h"
#include "headlight/data/dataset.h"
#include "headlight/nn/language_model.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

struct Evaluation {
  double loss = 0;           // mean negative log-likelihood of a target, in nats
  double perplexity = 1;     // exp(loss)
  double bits_per_byte = 0;  // bits that a byte of the target text costs; 0 when bytes is 0
  Index tokens = 0;          // targets
  Index bytes = 0;           // of the targets' text; 0: none, or unknown characters are in it
};

struct EvaluationOptions {
  Index batch_size = 12;
  Index block_size = 0;   // 0: the model's
  Index max_batches = 0;  // evenly spread over the dataset; 0: all
  // That share the work of evaluate(): all call it, and all get its result, whose bits do not
  // depend on their number.
  Processes* processes = nullptr;
};

// The model's loss on a dataset, each target once. Without dropout and without gradients.
// Throws Error when the dataset has no target.
Evaluation evaluate(const LanguageModel& model, const Tokenizer& tokenizer,
                    const TokenDataset& dataset, const EvaluationOptions& options = {});

// A token of a text, and what the model expected in its place.
struct TokenEvaluation {
  Index sequence = 0;  // of the dataset, from 0: the document; 0 in a stream
  Index position = 0;  // in the sequence, from 0
  std::int32_t token = 0;
  // Nats; NaN for the first token of a sequence, which nothing precedes and no loss counts.
  double log_probability = std::numeric_limits<double>::quiet_NaN();
  double entropy = 0;  // nats; of the distribution that the token comes from
  Index rank = 0;      // 1: the model held no token for likelier; 0: nothing was expected
  Index context = 0;   // tokens before it that the model saw, at most a block

  bool is_predicted() const { return rank > 0; }
};

// As evaluate(), and tells of every token on the way, in the order of the text: the mean of
// -log_probability is the loss. Logits are held for some rows at a time, so that a text of any
// length is walked through in little memory. What `on_token` throws passes through.
Evaluation evaluate_tokens(const LanguageModel& model, const Tokenizer& tokenizer,
                           const TokenDataset& dataset, const EvaluationOptions& options,
                           const std::function<void(const TokenEvaluation&)>& on_token);

// What an evaluation with these options would compute, token by token, N in all: tokens [N] int32,
// the inputs; targets [N] int32, the token that follows each; offsets [S + 1] int32, where each of
// the S sequences begins (each is a context of its own, at most a block long) and N; logits [N, V]
// float32. Throws Error when the dataset has no target, and when the memory that is free does not
// hold the logits.
NamedTensors evaluation_logits(const LanguageModel& model, const TokenDataset& dataset,
                               const EvaluationOptions& options = {});

}  // namespace headlight
