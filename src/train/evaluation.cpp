#include "headlight/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/share.h"
#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/ops/layout.h"
#include "kernels/threads/parallel.h"

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

SequentialBatches batches_of(const LanguageModel& model, const TokenDataset& dataset,
                             const EvaluationOptions& options) {
  const Index block_size = options.block_size > 0 ? options.block_size : model.block_size();
  return SequentialBatches(dataset, {.batch_size = options.batch_size, .block_size = block_size})
      .at_most(options.max_batches);
}

// Copies `rows` to `whole` from row `begin`; returns the next free row.
Index copy_rows(const Tensor& rows, Tensor& whole, Index begin) {
  slice(whole, 0, begin, begin + rows.size(0)).copy_from(rows);
  return begin + rows.size(0);
}

void require_logits_fit(Index tokens, Index vocabulary) {
  const std::string missing =
      missing_memory(4.0 * static_cast<double>(tokens) * static_cast<double>(vocabulary));
  require(missing.empty(), "logits: ", tokens, " tokens x ", vocabulary, " ids need ", missing,
          "; use fewer batches");
}

// Computes the evaluation. loss_of(index, batch) returns the sum of the negative log-likelihoods of
// a batch's targets.
template <class LossOf>
Evaluation sum_up(const SequentialBatches& batches, const Tokenizer& tokenizer,
                  const TokenDataset& dataset, const LossOf& loss_of) {
  const std::vector<Index> token_bytes = bytes_of_tokens(tokenizer);
  Evaluation result;
  double sum = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    sum += loss_of(i, batch);
    result.tokens += batch.target_count;
    result.bytes += target_bytes(batch, token_bytes);
  }
  if (count_token(dataset, tokenizer.unknown()) > 0) {
    result.bytes = 0;  // the length of unknown characters is not recorded
  }
  result.loss = sum / static_cast<double>(result.tokens);
  result.perplexity = std::exp(result.loss);
  if (result.bytes > 0) {
    result.bits_per_byte = sum / std::numbers::ln2 / static_cast<double>(result.bytes);
  }
  return result;
}

// Calls visit(first row, logits [n, V] float32) for the rows of a batch in order, in pieces, to
// limit memory.
template <class Visit>
void visit_logits(const LanguageModel& model, const Batch& batch, const Visit& visit) {
  constexpr Index kLogits = Index{1} << 23;  // maximum held at once: 32 MiB
  const Index rows_at_once = std::max<Index>(1, kLogits / model.vocab_size());
  const Tensor hidden = model.hidden(batch);
  for (Index first = 0; first < batch.token_count(); first += rows_at_once) {
    const Index end = std::min(first + rows_at_once, batch.token_count());
    const Tensor logits = model.logits_of(slice(hidden, 0, first, end));
    visit(first, to_contiguous(convert(logits, DType::float32)));
  }
}

// Returns the model's prediction at every position of a batch, without sequence and position.
std::vector<TokenEvaluation> score_targets(const LanguageModel& model, const Batch& batch) {
  const Index vocabulary = model.vocab_size();
  const std::int32_t* targets = batch.targets.data<std::int32_t>();
  std::vector<TokenEvaluation> scored(static_cast<std::size_t>(batch.token_count()));
  visit_logits(model, batch, [&](Index first, const Tensor& logits) {
    const float* start = logits.data<float>();
    const Index grain = kernels::row_grain(vocabulary);
    kernels::parallel_for(logits.size(0), grain, [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        if (targets[first + row] == kIgnoreTarget) {
          continue;
        }
        const TokenDistribution expected(
            {start + row * vocabulary, static_cast<std::size_t>(vocabulary)});
        TokenEvaluation& token = scored[static_cast<std::size_t>(first + row)];
        token.token = targets[first + row];
        token.log_probability = expected.log_probability(token.token);
        token.entropy = expected.entropy();
        token.rank = expected.rank(token.token);
      }
    });
  });
  return scored;
}

}  // namespace

Evaluation evaluate(const LanguageModel& model, const Tokenizer& tokenizer,
                    const TokenDataset& dataset, const EvaluationOptions& options) {
  const NoGrad no_grad;
  const SequentialBatches batches = batches_of(model, dataset, options);
  Processes& processes = options.processes == nullptr ? alone() : *options.processes;
  std::vector<double> losses(static_cast<std::size_t>(batches.count()));  // 0: other processes
  for (Index i = processes.rank(); i < batches.count(); i += processes.count()) {
    losses[static_cast<std::size_t>(i)] =
        model.loss(batches.batch(i), {}, {.normalizer = 1}).item();
    options.progress(share_of(i + 1, batches.count()));
  }
  add_across(processes, losses);
  return sum_up(batches, tokenizer, dataset,
                [&](Index i, const Batch&) { return losses[static_cast<std::size_t>(i)]; });
}

Evaluation evaluate_tokens(const LanguageModel& model, const Tokenizer& tokenizer,
                           const TokenDataset& dataset, const EvaluationOptions& options,
                           const std::function<void(const TokenEvaluation&)>& on_token) {
  const NoGrad no_grad;
  const SequentialBatches batches = batches_of(model, dataset, options);
  return sum_up(batches, tokenizer, dataset, [&](Index number, const Batch& batch) {
    std::vector<TokenEvaluation> scored = score_targets(model, batch);
    double sum = 0;
    for (Index s = 0; s < batch.sequence_count(); ++s) {
      const SequencePieces::Piece piece = batches.piece(number, s);
      const auto sequence = static_cast<Index>(piece.sequence);
      const Index first = batch.offsets[static_cast<std::size_t>(s)];
      if (piece.begin == 0) {
        on_token({.sequence = sequence, .token = batch.tokens.data<std::int32_t>()[first]});
      }
      for (Index i = 0; i + 1 < piece.length; ++i) {
        TokenEvaluation& token = scored[static_cast<std::size_t>(first + i)];
        token.sequence = sequence;
        token.position = piece.begin + i + 1;
        token.context = i + 1;
        if (token.is_predicted()) {
          sum -= token.log_probability;
        } else if (i + 2 < piece.length) {  // context: only the inputs hold its id
          token.token = batch.tokens.data<std::int32_t>()[first + i + 1];
        } else {
          continue;
        }
        on_token(token);
      }
    }
    options.progress(share_of(number + 1, batches.count()));
    return sum;
  });
}

NamedTensors evaluation_logits(const LanguageModel& model, const TokenDataset& dataset,
                               const EvaluationOptions& options) {
  const NoGrad no_grad;
  const SequentialBatches batches = batches_of(model, dataset, options);
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
          " tokens are too many to count; use fewer batches");
  require_logits_fit(tokens, model.vocab_size());
  const std::vector<std::int32_t> offsets(ends.begin(), ends.end());
  Tensor inputs = Tensor::empty({tokens}, DType::int32);
  Tensor targets = Tensor::empty({tokens}, DType::int32);
  Tensor logits = Tensor::empty({tokens, model.vocab_size()});
  Index row = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    copy_rows(batch.tokens, inputs, row);
    copy_rows(batch.targets, targets, row);
    row = copy_rows(model.logits(batch), logits, row);
    options.progress(share_of(i + 1, batches.count()));
  }
  return {{"tokens", inputs},
          {"targets", targets},
          {"offsets", Tensor::from(offsets, {static_cast<Index>(offsets.size())})},
          {"logits", logits}};
}

}  // namespace headlight
