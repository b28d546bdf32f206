#include "headlight/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headlight/autograd/autograd.h"
#include "headlight/data/sequential_batches.h"

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

}  // namespace

Evaluation evaluate(const Gpt& model, const Tokenizer& tokenizer, const TokenDataset& dataset,
                    const EvaluationOptions& options) {
  const NoGrad no_grad;
  const Index block = options.block_size > 0 ? options.block_size : model.config().block_size;
  const SequentialBatches batches(dataset, {.batch_size = options.batch_size, .block_size = block});
  const Index all = batches.count();
  const Index count = options.max_batches > 0 ? std::min(options.max_batches, all) : all;
  const std::vector<Index> token_bytes = bytes_of_tokens(tokenizer);
  Evaluation result;
  double sum = 0;
  for (Index i = 0; i < count; ++i) {
    const Batch batch = batches.batch(i * all / count);
    sum += model.loss(batch, {}, 1).item();
    result.tokens += batch.target_count;
    result.bytes += target_bytes(batch, token_bytes);
  }
  result.loss = sum / static_cast<double>(result.tokens);
  result.perplexity = std::exp(result.loss);
  if (result.bytes > 0) {
    result.bits_per_byte = sum / std::numbers::ln2 / static_cast<double>(result.bytes);
  }
  return result;
}

}  // namespace headlight
