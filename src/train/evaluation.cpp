#include "headlight/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headlight/autograd/autograd.h"
#include "headlight/data/sequential_batches.h"
#include "headlight/ops/layout.h"
#include "headlight/tensor/machine.h"

namespace headlight {
namespace {

Index target_bytes(const Batch& batch, const std::vector<Index>& token_bytes) {
  const std::int32_t* targets = batch.targets.data<std::int32_t>();
  Index bytes = 0;
  for (Index i = 0; i < batch.token_count(); ++i) {
    if (targets[i] != kIgnoreTarget) {
      bytes += token_bytes[static_cast<std::size_t>(targets[i])];
    }
  }
  return bytes;
}

std::vector<Index> bytes_of_tokens(const Tokenizer& tokenizer) {
  std::vector<Index> bytes;
  for (Index id = 0; id < tokenizer.vocab_size(); ++id) {
    bytes.push_back(
        static_cast<Index>(tokenizer.token_bytes(static_cast<std::int32_t>(id)).size()));
  }
  return bytes;
}

// The batches that an evaluation looks at.
class EvaluationBatches {
 public:
  EvaluationBatches(const Gpt& model, const TokenDataset& dataset, const EvaluationOptions& options)
      : batches_(dataset, {.batch_size = options.batch_size,
                           .block_size = options.block_size > 0 ? options.block_size
                                                                : model.config().block_size}),
        count_(options.max_batches > 0 ? std::min(options.max_batches, batches_.count())
                                       : batches_.count()) {}

  Index count() const { return count_; }
  Batch batch(Index index) const { return batches_.batch(index * batches_.count() / count_); }

 private:
  SequentialBatches batches_;
  Index count_;
};

// Copies rows into `whole` from row `begin` on; returns the row after them.
Index copy_rows(const Tensor& rows, Tensor& whole, Index begin) {
  slice(whole, 0, begin, begin + rows.size(0)).copy_from(rows);
  return begin + rows.size(0);
}

void require_logits_fit(Index tokens, Index vocabulary) {
  const std::string missing =
      missing_memory(4.0 * static_cast<double>(tokens) * static_cast<double>(vocabulary));
  require(missing.empty(), "logits: ", tokens, " tokens x ", vocabulary, " ids need ", missing,
          "; look at fewer batches");
}

}  // namespace

Evaluation evaluate(const Gpt& model, const Tokenizer& tokenizer, const TokenDataset& dataset,
                    const EvaluationOptions& options) {
  const NoGrad no_grad;
  const EvaluationBatches batches(model, dataset, options);
  const std::vector<Index> token_bytes = bytes_of_tokens(tokenizer);
  Evaluation result;
  double sum = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    sum += model.loss(batch, {}, 1).item();
    result.tokens += batch.target_count;
    result.bytes += target_bytes(batch, token_bytes);
  }
  if (count_token(dataset, tokenizer.unknown()) > 0) {
    result.bytes = 0;  // nothing tells how long those characters were
  }
  result.loss = sum / static_cast<double>(result.tokens);
  result.perplexity = std::exp(result.loss);
  if (result.bytes > 0) {
    result.bits_per_byte = sum / std::numbers::ln2 / static_cast<double>(result.bytes);
  }
  return result;
}

NamedTensors evaluation_logits(const Gpt& model, const TokenDataset& dataset,
                               const EvaluationOptions& options) {
  const NoGrad no_grad;
  const EvaluationBatches batches(model, dataset, options);
  std::vector<Index> ends{0};
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    const Index before = ends.back();
    for (std::size_t s = 1; s < batch.offsets.size(); ++s) {
      ends.push_back(before + batch.offsets[s]);
    }
  }
  const Index tokens = ends.back();
  require(tokens <= std::numeric_limits<std::int32_t>::max(), "logits: ", tokens,
          " tokens are more than can be counted; look at fewer batches");
  require_logits_fit(tokens, model.config().vocab_size);
  const std::vector<std::int32_t> offsets(ends.begin(), ends.end());
  Tensor inputs = Tensor::empty({tokens}, DType::int32);
  Tensor targets = Tensor::empty({tokens}, DType::int32);
  Tensor logits = Tensor::empty({tokens, model.config().vocab_size});
  Index row = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    copy_rows(batch.tokens, inputs, row);
    copy_rows(batch.targets, targets, row);
    row = copy_rows(model.logits(batch), logits, row);
  }
  return {{"tokens", inputs},
          {"targets", targets},
          {"offsets", Tensor::from(offsets, {static_cast<Index>(offsets.size())})},
          {"logits", logits}};
}

}  // namespace headlight
