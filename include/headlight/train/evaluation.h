#pragma once

#include <functional>
#include <limits>

#include "headlight/datasets/dataset.h"
#include "headlight/distributed/processes.h"
#include "headlight/nn/language_model.h"
#include "headlight/tensor/named_tensors.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

struct Evaluation {
  double loss = 0;           // mean negative log-likelihood of a target, in nats
  double perplexity = 1;     // exp(loss)
  double bits_per_byte = 0;  // mean bits per byte of the target text; 0 when bytes is 0
  Index tokens = 0;          // targets
  Index bytes = 0;  // bytes of the targets' text; 0: none, or the text has unknown characters
  // Pairs of answers, whose loss is that of PreferenceTuning, without a perplexity; 0: a text.
  Index pairs = 0;
  double accuracy = 0;  // share of pairs with a positive margin
  double margin = 0;    // mean of beta times the margin of a pair
  double likelier = 0;  // share of pairs whose preferred answer the model finds likelier
};

struct EvaluationOptions {
  Index batch_size = 12;
  Index block_size = 0;   // 0: the model's
  Index max_batches = 0;  // evenly spread over the dataset; 0: all batches
  // Processes that share the work of evaluate(). All must call it, and all get the same result,
  // whose bits do not depend on their number.
  Processes* processes = nullptr;
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// Returns the model's loss on a dataset, counting each target once, without dropout or gradients.
// Throws Error when the dataset has no target.
Evaluation evaluate(const LanguageModel& model, const Tokenizer& tokenizer,
                    const TokenDataset& dataset, const EvaluationOptions& options = {});

// A token of a text and the model's prediction for its position.
struct TokenEvaluation {
  Index sequence = 0;  // index of the document, from 0; 0 in a stream
  Index position = 0;  // index in the sequence, from 0
  std::int32_t token = 0;
  // Nats; NaN for tokens that are not predicted and not in the loss: the first of a sequence, and
  // context (see learned_tokens.h).
  double log_probability = std::numeric_limits<double>::quiet_NaN();
  double entropy = 0;  // entropy of the predicted distribution, in nats
  Index rank = 0;      // 1: the most likely token; 0: not predicted
  Index context = 0;   // tokens of context the model saw, at most block_size

  bool is_predicted() const { return rank > 0; }
};

// Evaluates as evaluate() does and calls `on_token` for every token, in the order of the text, but
// not for a last token that is context. The mean of -log_probability is the loss. Holds the logits
// of only some rows at a time, so that memory does not grow with the text. Exceptions of `on_token`
// propagate.
Evaluation evaluate_tokens(const LanguageModel& model, const Tokenizer& tokenizer,
                           const TokenDataset& dataset, const EvaluationOptions& options,
                           const std::function<void(const TokenEvaluation&)>& on_token);

// Returns the inputs, targets and logits of an evaluation with these options, for N tokens in S
// sequences: tokens [N] int32; targets [N] int32, the token after each input; offsets [S + 1]
// int32, where each sequence begins, then N; logits [N, V] float32. Each sequence is a context of
// its own, at most block_size long. Throws Error when the dataset has no target or when the logits
// do not fit into free memory.
NamedTensors evaluation_logits(const LanguageModel& model, const TokenDataset& dataset,
                               const EvaluationOptions& options = {});

}  // namespace headlight
