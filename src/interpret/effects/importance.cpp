#include "headlight/interpret/effects/importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/share.h"
#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/interpret/head_set.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "interpret/effects/forward_replay.h"
#include "interpret/layer_maps.h"

namespace headlight {
namespace {

// Hook with a gate of value 1 on every head of every sequence.
class GateHook final : public ForwardHook {
 public:
  GateHook(const LanguageModel& model, const Batch& batch) {
    const HeadLayout heads = model.heads();
    for (Index layer = 0; layer < heads.layers(); ++layer) {
      const Shape shape{batch.sequence_count(), heads.count(layer)};
      gates_.push_back(Tensor::ones(shape, model.dtype()).set_requires_grad());
    }
    std::vector<std::int32_t> sequences(static_cast<std::size_t>(batch.token_count()));
    for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
      std::fill(sequences.begin() + batch.offsets[b], sequences.begin() + batch.offsets[b + 1],
                static_cast<std::int32_t>(b));
    }
    sequences_ = Tensor::from(sequences, {batch.token_count()});
  }

  bool wants(Point point, Index layer) const override {
    return point == Point::z && layer < std::ssize(gates_);
  }
  Tensor visit(const HookSite& site, const Tensor& z) override {
    const Tensor& of_layer = gates_[static_cast<std::size_t>(site.layer)];
    const Tensor gates = embedding(of_layer, sequences_);  // [N, H]
    return mul(z, reshape(gates, {z.size(0), z.size(1), 1}));
  }

  bool was_called() const {
    return std::all_of(gates_.begin(), gates_.end(),
                       [](const Tensor& gates) { return gates.grad().defined(); });
  }
  // [B, H]
  Tensor gradient(Index layer) const { return gates_[static_cast<std::size_t>(layer)].grad(); }

 private:
  std::vector<Tensor> gates_;  // [L] of [B, H]
  Tensor sequences_;           // [N] int32, sequence index of every token
};

// Sums over documents for one head.
struct Sums {
  std::vector<DocumentSum> absolute;
  std::vector<DocumentSum> falling;  // minus the derivative
};

void add_gradients(const GateHook& hook, const HeadLayout& layout, const Batch& batch,
                   std::map<HeadId, Sums>& sums) {
  const std::vector<double> targets = target_counts(batch);
  for (Index layer = 0; layer < layout.layers(); ++layer) {
    const std::vector<double> gradients = hook.gradient(layer).to_vector();  // [B, H]
    const std::vector<Index>& numbers = layout.numbers[static_cast<std::size_t>(layer)];
    for (std::size_t index = 0; index < numbers.size(); ++index) {
      Sums& head = sums[{layer, numbers[index]}];
      for (std::size_t b = 0; b < targets.size(); ++b) {
        const double value = gradients[b * numbers.size() + index];
        head.absolute.push_back({std::abs(value), targets[b]});
        head.falling.push_back({-value, targets[b]});
      }
    }
  }
}

void normalize_layers(std::vector<HeadImportance>& heads) {
  std::map<Index, double> squares;
  for (const HeadImportance& head : heads) {
    squares[head.head.layer] += head.sensitivity.mean * head.sensitivity.mean;
  }
  for (HeadImportance& head : heads) {
    const double length = std::sqrt(squares[head.head.layer]);
    head.normalized = length > 0 ? head.sensitivity.mean / length : 0;
  }
}

// Ranks from 0; ties share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (std::size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace

ImportanceResult head_importance(const LanguageModel& model, const TokenDataset& data,
                                 const ImportanceOptions& options) {
  require_causal(model);
  const SequentialBatches batches(
      data, {.batch_size = options.batch_size, .block_size = model.block_size()});
  const HeadLayout layout = heads_of(model);
  std::map<HeadId, Sums> sums;
  ImportanceResult result;
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    GateHook hook(model, batch);
    ForwardContext context;
    context.hook = &hook;
    const Tensor loss = model.loss(batch, context, {.normalizer = 1});
    backward(loss);
    for (auto [name, parameter] : model.parameters()) {
      parameter.zero_grad();  // the backward pass fills them too
    }
    require(hook.was_called(), "a model of type '", model.model_type(),
            "' does not pass to ForwardHook the outputs of the heads of every layer");
    add_gradients(hook, layout, batch, sums);
    result.loss += loss.item();
    result.tokens += batch.target_count;
    result.sequences += batch.sequence_count();
    options.progress(share_of(i + 1, batches.count()));
  }
  result.loss /= static_cast<double>(result.tokens);
  for (const auto& [id, head] : sums) {
    result.heads.push_back({.head = id,
                            .sensitivity = bootstrap_mean(head.absolute, options.bootstrap),
                            .taylor = bootstrap_mean(head.falling, options.bootstrap)});
  }
  normalize_layers(result.heads);
  return result;
}

double correlation(const std::vector<double>& a, double mean_a, const std::vector<double>& b,
                   double mean_b) {
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  require(a.size() == b.size(), "[rank_correlation] expected lists of one size, got ", a.size(),
          " and ", b.size());
  const double middle = (static_cast<double>(a.size()) - 1) / 2;
  const double found = correlation(ranks_of(a), middle, ranks_of(b), middle);
  return std::isnan(found) ? 0 : found;
}

}  // namespace headlight
