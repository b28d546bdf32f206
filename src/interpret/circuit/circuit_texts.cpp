#include "interpret/circuit/circuit_texts.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/optim/adamw.h"
#include "interpret/circuit/stream_reader.h"
#include "interpret/layer_maps.h"
#include "interpret/values_by_point.h"

namespace headlight {
namespace {

// Replaces the embedding; keeps the streams that nodes read and the gradients at their inputs.
class ReaderGradients final : public ForwardHook {
 public:
  ReaderGradients(Index layers, Point mlp_port, Tensor embedding)
      : layers_(layers), mlp_port_(mlp_port), embedding_(std::move(embedding)) {}

  bool wants(Point point, Index layer) const override {
    return point == Point::resid_pre || point == Point::resid_mid || point == Point::q ||
           point == Point::k || point == Point::v || point == mlp_port_ ||
           (point == Point::resid_post && layer + 1 == layers_);
  }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    if (site.point == Point::resid_pre || site.point == Point::resid_mid) {
      const bool is_first = site.point == Point::resid_pre && site.layer == 0;
      const Tensor stream = is_first ? embedding_ : value;
      streams_[{site.point, site.layer}] = stream.detach();
      return stream;
    }
    const Tensor leaf = Tensor::zeros(value.shape(), value.dtype()).set_requires_grad();
    leaves_[{site.point, site.layer}] = leaf;
    return value + leaf;
  }

  // Input stream of attention (resid_pre) or of the MLP of a layer.
  const Tensor& stream(Point point, Index layer) const {
    const auto found = streams_.find({point, layer});
    return found == streams_.end() ? streams_.at({Point::resid_pre, layer}) : found->second;
  }
  Tensor gradient(Point point, Index layer) const { return leaves_.at({point, layer}).grad(); }

 private:
  Index layers_;
  Point mlp_port_;
  Tensor embedding_;  // [N, C]
  PointValues streams_;
  PointValues leaves_;
};

template <class Act>
void for_each_task(const std::vector<PatchingTask>& tasks, const Act& act) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks.size() == 1) {
      act(i);
    } else {
      in_place(concat_text("pair ", i + 1, ": "), [&] { act(i); });
    }
  }
}

std::vector<AnswerContrast> contrasts_of(const Gpt& model, const std::vector<PatchingTask>& tasks) {
  std::vector<AnswerContrast> contrasts;
  for_each_task(tasks, [&](std::size_t i) { contrasts.emplace_back(model, tasks[i]); });
  return contrasts;
}

// Calls a function for all ports, in the order of a pass, those without readers too.
template <class Visit>
void for_each_port(const Gpt& model, const CircuitGraph& graph, const Visit& visit) {
  const Index layers = model.config().n_layer;
  for (Index layer = 0; layer < layers; ++layer) {
    for (const Point port : {Point::q, Point::k, Point::v, graph.mlp_port()}) {
      visit(port, layer);
    }
  }
  visit(Point::logits, layers - 1);
}

// Gradients of the readers' streams, [R, N, C].
Tensor gradients_of(const Gpt& model, const CircuitGraph& graph, const ReaderGradients& hook,
                    Point port, Index layer) {
  if (port == Point::logits) {
    return hook.gradient(Point::resid_post, layer);
  }
  const Tensor gradient = hook.gradient(port, layer);
  if (port == graph.mlp_port()) {
    return mlp_read_gradient(model, layer, port, hook.stream(Point::resid_mid, layer), gradient);
  }
  const Tensor& stream = hook.stream(Point::resid_pre, layer);  // [N, C]
  const Index count = graph.port(port, layer).count;
  const Tensor streams = expand(reshape(stream, {1, stream.size(0), stream.size(1)}),
                                {count, stream.size(0), stream.size(1)});
  const Index part = port == Point::q ? 0 : port == Point::k ? 1 : 2;
  return read_gradient(model, layer, part, streams, gradient);
}

// Adds values [R, S] of the edges at a port to their scores.
void add_to(std::vector<std::vector<double>>& scores, const CircuitGraph::Port& readers,
            const Tensor& values) {
  const std::vector<double> numbers = values.to_vector();
  for (Index i = 0; i < values.numel(); ++i) {
    const auto reader = static_cast<std::size_t>(readers.first + i / readers.senders);
    const auto sender = static_cast<std::size_t>(i % readers.senders);
    scores[reader][sender] += numbers[static_cast<std::size_t>(i)];
  }
}

NamedTensors named(const EdgeMasks& masks) {
  NamedTensors tensors;
  for (const auto& [port, mask] : masks) {
    tensors.emplace_back(concat_text(name_of(port.first), ".", port.second), mask);
  }
  return tensors;
}

}  // namespace

CircuitTexts::CircuitTexts(const Gpt& model, const CircuitGraph& graph,
                           const std::vector<PatchingTask>& tasks, Index memory)
    : model_(model),
      graph_(graph),
      tasks_(tasks),
      memory_(memory),
      contrasts_(contrasts_of(model, tasks)),
      replay_(read(&PatchingTask::clean, written_clean_)) {
  clean_ = of_ends(replay_.ends()).front();
  corrupt_ = of_ends(read(&PatchingTask::corrupt, cut_).ends()).front();
  for_each_task(tasks, [&](std::size_t pair) {
    contrasts_[pair].require_different(clean_[pair], corrupt_[pair]);
  });
  set_cut(std::move(cut_));
  empty_ = corrupt_;
}

bool CircuitTexts::are_alike() const {
  return std::ranges::all_of(contrasts_, [&](const AnswerContrast& contrast) {
    return contrast.starts() == contrasts_.front().starts();
  });
}

void CircuitTexts::cut_to_mean() {
  const auto pairs = static_cast<Index>(tasks_.size());
  const Index senders = cut_.rows.size(0);
  const Tensor by_pair =
      reshape(cut_.rows, {senders, pairs, cut_.rows.size(1) / pairs});  // [S, P, n C]
  const Tensor means = mean(by_pair, {.axes = {1}, .keepdim = true});
  cut_to({reshape(to_contiguous(expand(means, by_pair.shape())), cut_.rows.shape()), {}});
}

void CircuitTexts::cut_to_next() {
  const Index rows = contrasts_.front().rows();
  const auto turned = [](const Tensor& values, Index axis, Index length) {
    return concat({slice(values, axis, length, values.size(axis)), slice(values, axis, 0, length)},
                  axis);
  };
  SenderRows next{turned(cut_.rows, 1, rows * model_.config().n_embd), {}};
  for (const auto& [spot, scale] : cut_.scales) {
    next.scales[spot] = turned(scale, 0, rows);
  }
  cut_to(std::move(next));
}

struct CircuitTexts::Steps {
  std::size_t first_pair;
  std::size_t last_pair;
  Index first;
  Index last;
  Index all;

  Index count() const { return last - first; }
  // Place of a step on the line from the cut to the clean embeddings: the midpoint of its piece;
  // for one step the end, the clean text.
  double at(Index step) const {
    return all == 1 ? 1 : (static_cast<double>(step) + 0.5) / static_cast<double>(all);
  }
};

void CircuitTexts::add_scores(Index steps, std::vector<std::vector<double>>& scores,
                              const std::function<void(double share)>& progress) const {
  constexpr Index kRows = 96;  // whose activations are kept for the gradients
  for (std::size_t first = 0; first < pairs();) {
    std::size_t last = first + 1;
    while (last < pairs() && steps * (starts_[last + 1] - starts_[first]) <= kRows) {
      ++last;
    }
    const Index at_once =
        model_.takes_passes_together()
            ? std::clamp<Index>(kRows / (starts_[last] - starts_[first]), 1, steps)
            : 1;
    std::map<PointInLayer, Tensor> gradients;
    for (Index step = 0; step < steps; step += at_once) {
      add_gradients({first, last, step, std::min(step + at_once, steps), steps}, gradients);
    }
    add_products(first, last, gradients, scores);
    first = last;
    progress(static_cast<double>(first) / static_cast<double>(pairs()));
  }
}

Tensor CircuitTexts::masked_error(const EdgeMasks& masks, std::size_t pair) const {
  const Tensor other = rows_of(cut_, pair, pair + 1).rows;
  MaskedEdges hook(model_, graph_, other, masks);
  const Tensor hidden = model_.hidden(batch(&PatchingTask::clean, pair, pair + 1), {.hook = &hook});
  const Tensor error =
      (contrasts_[pair].of_hidden(model_, hidden) - clean_[pair]) / (clean_[pair] - empty_[pair]);
  return error * error;
}

void CircuitTexts::add_masks(Index steps, std::vector<std::vector<double>>& scores,
                             const std::function<void(double share)>& progress) const {
  // The penalty for an open edge, in squared shares of the difference, grows as edges close.
  constexpr double kFirstPenalty = 1e-5;
  constexpr double kLastPenalty = 1e-2;
  constexpr double kRate = 0.2;
  const FrozenWeights frozen(model_);
  EdgeMasks logits = open_masks();
  AdamW adamw(named(logits), {.weight_decay = 0});
  for (Index step = 0; step < steps; ++step) {
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double penalty = kFirstPenalty * std::pow(kLastPenalty / kFirstPenalty, done);
    for (std::size_t pair = 0; pair < pairs(); ++pair) {
      EdgeMasks masks;
      Tensor open;
      for (const auto& [port, logit] : logits) {
        const Tensor mask = masks[port] = sigmoid(logit);
        open = open.defined() ? open + sum(mask) : sum(mask);
      }
      backward((masked_error(masks, pair) + open * penalty) / static_cast<double>(pairs()));
    }
    adamw.step(kRate);
    for (auto& [port, logit] : logits) {
      logit.zero_grad();
    }
    progress(static_cast<double>(step + 1) / static_cast<double>(steps));
  }
  for (const auto& [port, logit] : logits) {
    add_to(scores, graph_.port(port.first, port.second),
           sigmoid(cast(logit.detach(), DType::float64)));
  }
}

EdgeMasks CircuitTexts::open_masks() const {
  constexpr double kLogit = 3;  // a mask of 0.95
  EdgeMasks logits;
  for_each_port(model_, graph_, [&](Point port, Index layer) {
    const CircuitGraph::Port readers = graph_.port(port, layer);
    if (readers.count > 0) {
      logits[{port, layer}] =
          Tensor::full({readers.count, readers.senders}, kLogit, written_clean_.rows.dtype())
              .set_requires_grad();
    }
  });
  return logits;
}

std::vector<std::vector<double>> CircuitTexts::differences_with(
    std::span<const KeptEdges> sets, const std::function<void(double share)>& progress) const {
  const NoGrad no_grad;
  std::vector<std::vector<double>> differences;
  while (differences.size() < sets.size()) {
    const auto left = sets.subspan(differences.size());
    std::vector<ChangedRun> runs(left.size(), {nullptr, 0, first_});
    runs.resize(replay_.runs_at_once(runs, cut_from_.rows.numel()));  // changes of all senders
    EdgeCut hook(model_, graph_, left.first(runs.size()), cut_from_);
    for (ChangedRun& run : runs) {
      run.hook = &hook;
    }
    replay_.for_ends(runs, [&](std::size_t, const Tensor& ends) {
      std::ranges::move(of_ends(ends), std::back_inserter(differences));
    });
    progress(static_cast<double>(differences.size()) / static_cast<double>(sets.size()));
  }
  return differences;
}

Batch CircuitTexts::batch(std::vector<std::int32_t> PatchingTask::*text, std::size_t first,
                          std::size_t last, Index copies) const {
  std::vector<std::vector<std::int32_t>> sequences;
  for (Index copy = 0; copy < copies; ++copy) {
    for (std::size_t pair = first; pair < last; ++pair) {
      std::ranges::move(contrasts_[pair].sequences(tasks_[pair].*text),
                        std::back_inserter(sequences));
    }
  }
  return make_batch(sequences);
}

ForwardReplay CircuitTexts::read(std::vector<std::int32_t> PatchingTask::*text,
                                 SenderRows& written) {
  starts_ = {0};
  for (const AnswerContrast& contrast : contrasts_) {
    starts_.push_back(starts_.back() + contrast.rows());
  }
  KeepSenders keep(model_, graph_);
  ForwardReplay replay(model_, batch(text, 0, pairs()), &keep, memory_);
  written = std::move(keep.written);
  return replay;
}

std::vector<std::vector<double>> CircuitTexts::of_ends(const Tensor& ends) const {
  const Index rows = starts_.back();
  const Index copies = ends.size(0) / rows;
  const Tensor by_copy = reshape(ends, {copies, rows, ends.size(1)});
  std::vector<std::vector<double>> differences(static_cast<std::size_t>(copies));
  for (std::size_t pair = 0; pair < pairs(); ++pair) {
    const Tensor own = to_contiguous(slice(by_copy, 1, starts_[pair], starts_[pair + 1]));
    const std::vector<double> found =
        contrasts_[pair].of_copies(replay_, reshape(own, {copies * own.size(1), ends.size(1)}));
    for (std::size_t copy = 0; copy < found.size(); ++copy) {
      differences[copy].push_back(found[copy]);
    }
  }
  return differences;
}

void CircuitTexts::set_cut(SenderRows rows) {
  cut_ = std::move(rows);
  const Index senders = cut_.rows.size(0);
  const Shape shape{senders, starts_.back(), model_.config().n_embd};
  std::optional<Index> first;
  for (Index sender = 0; sender < senders; ++sender) {
    const auto own = [&](const Tensor& written) {
      return select(reshape(written, shape), 0, sender);
    };
    const std::optional<Index> differs =
        replay_.first_difference(own(written_clean_.rows), own(cut_.rows));
    first = first && differs ? std::min(first, differs) : first ? first : differs;
  }
  first_ = first.value_or(0);
  const Tensor rows_from = to_contiguous(
      transpose(replay_.rows_from(transpose(reshape(cut_.rows, shape), 0, 1), first_), 0, 1));
  cut_from_ = {reshape(rows_from, {senders, rows_from.numel() / senders}), {}};
  for (const auto& [spot, scale] : cut_.scales) {
    cut_from_.scales[spot] = to_contiguous(replay_.rows_from(scale, first_));
  }
}

void CircuitTexts::cut_to(SenderRows rows) {
  set_cut(std::move(rows));
  const KeptEdges none = graph_.no_edges();
  empty_ = differences_with({&none, 1}).front();
  for (std::size_t pair = 0; pair < pairs(); ++pair) {
    require_value(empty_[pair] != clean_[pair], "pairs", "cut edges leave the measure as it is, ",
                  clean_[pair]);
  }
}

SenderRows CircuitTexts::rows_of(const SenderRows& written, std::size_t first,
                                 std::size_t last) const {
  const Index width = model_.config().n_embd;
  SenderRows own{
      to_contiguous(slice(written.rows, 1, starts_[first] * width, starts_[last] * width)), {}};
  for (const auto& [spot, scale] : written.scales) {
    own.scales[spot] = to_contiguous(slice(scale, 0, starts_[first], starts_[last]));
  }
  return own;
}

Tensor CircuitTexts::embedding_of(const SenderRows& written, std::size_t first,
                                  std::size_t last) const {
  const Index width = model_.config().n_embd;
  const Tensor all = reshape(slice(written.rows, 0, 0, 1), {starts_.back(), width});
  return slice(all, 0, starts_[first], starts_[last]);
}

void CircuitTexts::add_gradients(const Steps& steps,
                                 std::map<PointInLayer, Tensor>& gradients) const {
  const Tensor from = embedding_of(cut_, steps.first_pair, steps.last_pair);
  const Tensor to = embedding_of(written_clean_, steps.first_pair, steps.last_pair);
  std::vector<Tensor> embeddings;
  for (Index step = steps.first; step < steps.last; ++step) {
    embeddings.push_back(from + (to - from) * steps.at(step));
  }
  ReaderGradients hook(model_.config().n_layer, graph_.mlp_port(), concat(embeddings, 0));
  const FrozenWeights frozen(model_);
  const Tensor hidden =
      model_.hidden(batch(&PatchingTask::clean, steps.first_pair, steps.last_pair, steps.count()),
                    {.hook = &hook});
  Tensor total;
  Index row = 0;
  for (Index step = 0; step < steps.count(); ++step) {
    for (std::size_t pair = steps.first_pair; pair < steps.last_pair; ++pair) {
      const Index rows = contrasts_[pair].rows();
      const double weight = 1 / (static_cast<double>(steps.all) * (clean_[pair] - empty_[pair]));
      const Tensor share =
          contrasts_[pair].of_hidden(model_, slice(hidden, 0, row, row + rows)) * weight;
      total = total.defined() ? total + share : share;
      row += rows;
    }
  }
  backward(total);
  for_each_port(model_, graph_, [&](Point port, Index layer) {
    const Index count = graph_.port(port, layer).count;
    if (count == 0) {
      return;
    }
    const Tensor read = gradients_of(model_, graph_, hook, port, layer);  // [R, steps n, C]
    const Tensor sums = sum(reshape(read, {count, steps.count(), from.numel()}), {.axes = {1}});
    Tensor& all = gradients[{port, layer}];
    all = all.defined() ? all + sums : sums;
  });
}

void CircuitTexts::add_products(std::size_t first, std::size_t last,
                                const std::map<PointInLayer, Tensor>& gradients,
                                std::vector<std::vector<double>>& scores) const {
  const NoGrad no_grad;
  const SenderRows cut = rows_of(cut_, first, last);
  const SenderRows clean = rows_of(written_clean_, first, last);
  SenderChange change(model_, graph_, cut);
  change.write(0, clean.rows);
  const auto pass_norm = [&](Branch branch, Index layer) {
    const auto scale = clean.scales.find({post_norm_scale(branch), layer});
    if (scale != clean.scales.end()) {
      change.pass_norm(branch, layer, scale->second);
    }
  };
  for_each_port(model_, graph_, [&](Point port, Index layer) {
    const CircuitGraph::Port readers = graph_.port(port, layer);
    if (readers.count > 0) {
      add_to(scores, readers,
             matmul(gradients.at({port, layer}),
                    transpose(slice(change.values(), 0, 0, readers.senders), 0, 1)));
    }
    if (port == Point::v) {
      pass_norm(Branch::attention, layer);
    } else if (port == graph_.mlp_port()) {
      pass_norm(Branch::mlp, layer);
    }
  });
}

}  // namespace headlight
