#include "headlight/interpret/circuit/circuit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/tensor/random.h"
#include "interpret/circuit/circuit_graph.h"
#include "interpret/circuit/edge_cut.h"
#include "interpret/circuit/stream_reader.h"
#include "interpret/effects/answer_contrast.h"
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

// The pairs of texts with their activations. All clean texts are one batch, and so are all corrupt
// ones.
class CircuitTexts {
 public:
  // The model, the graph and the tasks must outlive it.
  CircuitTexts(const Gpt& model, const CircuitGraph& graph, const std::vector<PatchingTask>& tasks)
      : model_(model),
        graph_(graph),
        tasks_(tasks),
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

  std::size_t pairs() const { return tasks_.size(); }
  // Differences [pairs] on the clean and the corrupt texts, and with all edges cut.
  const std::vector<double>& clean() const { return clean_; }
  const std::vector<double>& corrupt() const { return corrupt_; }
  const std::vector<double>& empty() const { return empty_; }
  // Returns whether the rows of all pairs are at the same positions.
  bool are_alike() const {
    return std::ranges::all_of(contrasts_, [&](const AnswerContrast& contrast) {
      return contrast.starts() == contrasts_.front().starts();
    });
  }
  // Cut edges carry the mean over all pairs, or the values of the next pair, of pairs that are
  // alike. Throws Error about "pairs" if they leave the metric of a pair as it is.
  void cut_to_mean() {
    const auto pairs = static_cast<Index>(tasks_.size());
    const Index senders = cut_.rows.size(0);
    const Tensor by_pair =
        reshape(cut_.rows, {senders, pairs, cut_.rows.size(1) / pairs});  // [S, P, n C]
    const Tensor means = mean(by_pair, {.axes = {1}, .keepdim = true});
    cut_to({reshape(to_contiguous(expand(means, by_pair.shape())), cut_.rows.shape()), {}});
  }
  void cut_to_next() {
    const Index rows = contrasts_.front().rows();
    const auto turned = [](const Tensor& values, Index axis, Index length) {
      return concat(
          {slice(values, axis, length, values.size(axis)), slice(values, axis, 0, length)}, axis);
    };
    SenderRows next{turned(cut_.rows, 1, rows * model_.config().n_embd), {}};
    for (const auto& [spot, scale] : cut_.scales) {
      next.scales[spot] = turned(scale, 0, rows);
    }
    cut_to(std::move(next));
  }

  // Adds the edges' shares of the difference, summed over the pairs, [receivers] of [senders].
  void add_scores(Index steps, std::vector<std::vector<double>>& scores,
                  const std::function<void(double share)>& progress) const {
    constexpr Index kRows = 96;  // whose activations are kept for the gradients
    for (std::size_t first = 0; first < pairs();) {
      std::size_t last = first + 1;
      while (last < pairs() && steps * (starts_[last + 1] - starts_[first]) <= kRows) {
        ++last;
      }
      const Index at_once = std::clamp<Index>(kRows / (starts_[last] - starts_[first]), 1, steps);
      std::map<PointInLayer, Tensor> gradients;
      for (Index step = 0; step < steps; step += at_once) {
        add_gradients({first, last, step, std::min(step + at_once, steps), steps}, gradients);
      }
      add_products(first, last, gradients, scores);
      first = last;
      progress(static_cast<double>(first) / static_cast<double>(pairs()));
    }
  }

  // Differences [sets] of [pairs] on the clean texts with all edges cut that a set does not keep.
  std::vector<std::vector<double>> differences_with(
      std::span<const KeptEdges> sets,
      const std::function<void(double share)>& progress = [](double) {}) const {
    constexpr Index kElements = 1 << 25;  // of the changes of all senders
    const NoGrad no_grad;
    const auto at_once =
        static_cast<std::size_t>(std::max<Index>(1, kElements / cut_from_.rows.numel()));
    std::vector<std::vector<double>> differences;
    while (differences.size() < sets.size()) {
      const auto left = sets.subspan(differences.size());
      std::vector<ChangedRun> runs(std::min(at_once, left.size()), {nullptr, 0, first_});
      runs.resize(replay_.runs_at_once(runs));
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

 private:
  // Pairs and steps of one pass with gradients.
  struct Steps {
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

  template <class Act>
  static void for_each_task(const std::vector<PatchingTask>& tasks, const Act& act) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks.size() == 1) {
        act(i);
      } else {
        in_place(concat_text("pair ", i + 1, ": "), [&] { act(i); });
      }
    }
  }
  static std::vector<AnswerContrast> contrasts_of(const Gpt& model,
                                                  const std::vector<PatchingTask>& tasks) {
    std::vector<AnswerContrast> contrasts;
    for_each_task(tasks, [&](std::size_t i) { contrasts.emplace_back(model, tasks[i]); });
    return contrasts;
  }

  // Batch of `copies` copies of the texts of some pairs.
  Batch batch(std::vector<std::int32_t> PatchingTask::*text, std::size_t first, std::size_t last,
              Index copies = 1) const {
    std::vector<std::vector<std::int32_t>> sequences;
    for (Index copy = 0; copy < copies; ++copy) {
      for (std::size_t pair = first; pair < last; ++pair) {
        std::ranges::move(contrasts_[pair].sequences(tasks_[pair].*text),
                          std::back_inserter(sequences));
      }
    }
    return make_batch(sequences);
  }
  ForwardReplay read(std::vector<std::int32_t> PatchingTask::*text, SenderRows& written) {
    starts_ = {0};
    for (const AnswerContrast& contrast : contrasts_) {
      starts_.push_back(starts_.back() + contrast.rows());
    }
    KeepSenders keep(model_, graph_);
    ForwardReplay replay(model_, batch(text, 0, pairs()), &keep);
    written = std::move(keep.written);
    return replay;
  }
  // Differences [copies] of [pairs] from ends [copies N, F].
  std::vector<std::vector<double>> of_ends(const Tensor& ends) const {
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

  void set_cut(SenderRows rows) {
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
  void cut_to(SenderRows rows) {
    set_cut(std::move(rows));
    KeptEdges none;
    for (const CircuitGraph::Receiver& receiver : graph_.receivers()) {
      none.emplace_back(static_cast<std::size_t>(receiver.senders), false);
    }
    empty_ = differences_with({&none, 1}).front();
    for (std::size_t pair = 0; pair < pairs(); ++pair) {
      require_value(empty_[pair] != clean_[pair], "pairs", "cut edges leave the measure as it is, ",
                    clean_[pair]);
    }
  }

  // The rows of some pairs.
  SenderRows rows_of(const SenderRows& written, std::size_t first, std::size_t last) const {
    const Index width = model_.config().n_embd;
    SenderRows own{
        to_contiguous(slice(written.rows, 1, starts_[first] * width, starts_[last] * width)), {}};
    for (const auto& [spot, scale] : written.scales) {
      own.scales[spot] = to_contiguous(slice(scale, 0, starts_[first], starts_[last]));
    }
    return own;
  }
  // Embeddings of some pairs, [n, C].
  Tensor embedding_of(const SenderRows& written, std::size_t first, std::size_t last) const {
    const Index width = model_.config().n_embd;
    const Tensor all = reshape(slice(written.rows, 0, 0, 1), {starts_.back(), width});
    return slice(all, 0, starts_[first], starts_[last]);
  }

  // Adds the weighted gradients of the streams that the readers of each port read, [R, n C].
  void add_gradients(const Steps& steps, std::map<PointInLayer, Tensor>& gradients) const {
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
    for_each_port([&](Point port, Index layer) {
      const Index count = graph_.port(port, layer).count;
      if (count == 0) {
        return;
      }
      const Tensor read = gradients_of(hook, port, layer);  // [R, steps n, C]
      const Tensor sums = sum(reshape(read, {count, steps.count(), from.numel()}), {.axes = {1}});
      Tensor& all = gradients[{port, layer}];
      all = all.defined() ? all + sums : sums;
    });
  }
  // Calls a function for all ports, in the order of a pass, those without readers too.
  template <class Visit>
  void for_each_port(const Visit& visit) const {
    const Index layers = model_.config().n_layer;
    for (Index layer = 0; layer < layers; ++layer) {
      for (const Point port : {Point::q, Point::k, Point::v, graph_.mlp_port()}) {
        visit(port, layer);
      }
    }
    visit(Point::logits, layers - 1);
  }
  // Gradients of the readers' streams, [R, N, C].
  Tensor gradients_of(const ReaderGradients& hook, Point port, Index layer) const {
    if (port == Point::logits) {
      return hook.gradient(Point::resid_post, layer);
    }
    const Tensor gradient = hook.gradient(port, layer);
    if (port == graph_.mlp_port()) {
      return mlp_read_gradient(model_, layer, port, hook.stream(Point::resid_mid, layer), gradient);
    }
    const Tensor& stream = hook.stream(Point::resid_pre, layer);  // [N, C]
    const Index count = graph_.port(port, layer).count;
    const Tensor streams = expand(reshape(stream, {1, stream.size(0), stream.size(1)}),
                                  {count, stream.size(0), stream.size(1)});
    const Index part = port == Point::q ? 0 : port == Point::k ? 1 : 2;
    return read_gradient(model_, layer, part, streams, gradient);
  }

  // Adds the products of the gradients of some pairs and the senders' changes.
  void add_products(std::size_t first, std::size_t last,
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
    for_each_port([&](Point port, Index layer) {
      const CircuitGraph::Port readers = graph_.port(port, layer);
      if (readers.count > 0) {
        const Tensor products =
            matmul(gradients.at({port, layer}),
                   transpose(slice(change.values(), 0, 0, readers.senders), 0, 1));  // [R, S]
        const std::vector<double> values = products.to_vector();
        for (Index i = 0; i < products.numel(); ++i) {
          const auto reader = static_cast<std::size_t>(readers.first + i / readers.senders);
          const auto sender = static_cast<std::size_t>(i % readers.senders);
          scores[reader][sender] += values[static_cast<std::size_t>(i)];
        }
      }
      if (port == Point::v) {
        pass_norm(Branch::attention, layer);
      } else if (port == graph_.mlp_port()) {
        pass_norm(Branch::mlp, layer);
      }
    });
  }

  const Gpt& model_;
  const CircuitGraph& graph_;
  const std::vector<PatchingTask>& tasks_;
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

// Index of an edge: receiver, then sender.
using EdgeIndex = std::pair<std::size_t, std::size_t>;

class CircuitSearch {
 public:
  CircuitSearch(const Gpt& model, const std::vector<PatchingTask>& tasks,
                const CircuitOptions& options)
      : options_(options), graph_(checked(model, tasks)), texts_(model, graph_, tasks) {
    if (options.ablation == CircuitAblation::corrupt) {
      return;
    }
    require_value(texts_.are_alike(), "pairs", "ablation by ", name_of(options.ablation),
                  " needs texts of the same number of tokens");
    if (options.ablation == CircuitAblation::mean) {
      require_value(model.config().norm != NormPosition::post, "ablation",
                    "mean values have no meaning in a post-norm model; use resample");
      texts_.cut_to_mean();
    } else {
      require_value(tasks.size() >= 2, "pairs", "resample needs two pairs or more, got 1");
      texts_.cut_to_next();
    }
  }

  CircuitResult run() {
    score();
    CircuitResult result;
    for (std::size_t pair = 0; pair < texts_.pairs(); ++pair) {
      const auto count = static_cast<double>(texts_.pairs());
      result.clean_difference += texts_.clean()[pair] / count;
      result.corrupt_difference += texts_.corrupt()[pair] / count;
      const TaskStrength strength = task_strength(texts_.clean()[pair], texts_.corrupt()[pair]);
      result.pairs_done += strength == TaskStrength::clear ? 1 : 0;
    }
    const Index all = options_.given.empty() ? std::ssize(order_) : std::ssize(options_.given);
    for (Index edges = 1; edges < all; edges *= 2) {
      result.curve.push_back({.edges = edges});
    }
    result.curve.push_back({.edges = all});
    std::vector<KeptEdges> sets;
    for (const CircuitFit& fit : result.curve) {
      sets.push_back(connected(fit.edges));
    }
    const std::vector<double> reached =
        faithfulness_of(sets, [&](double share) { options_.progress(0.5 + 0.4 * share); });
    for (std::size_t i = 0; i < reached.size(); ++i) {
      result.curve[i].faithfulness = reached[i];
    }
    const KeptEdges kept = connected(chosen(result.curve));
    measure(kept, result);
    for (const auto& [receiver, sender] : order_) {
      const CircuitGraph::Receiver& reader = graph_.receivers()[receiver];
      result.edges.push_back({graph_.senders()[sender], reader.node, reader.into,
                              scores_[receiver][sender], kept[receiver][sender]});
      result.kept += kept[receiver][sender] ? 1 : 0;
    }
    if (options_.random_sets > 0) {
      result.random = random_faithfulness(result.kept);
    }
    if (!options_.other.empty()) {
      result.other = overlap_with(kept, result.kept);
    }
    return result;
  }

 private:
  // Sets the measures of a circuit.
  void measure(const KeptEdges& kept, CircuitResult& result) const {
    const std::vector<double> reached = texts_.differences_with({&kept, 1}).front();
    for (std::size_t pair = 0; pair < texts_.pairs(); ++pair) {
      result.pairs.push_back(
          {texts_.clean()[pair], texts_.corrupt()[pair], texts_.empty()[pair], reached[pair]});
    }
    result.faithfulness = share_of(reached);
  }

  CircuitOverlap overlap_with(const KeptEdges& kept, Index count) const {
    const KeptEdges other = without_dead_ends(edges_named(options_.other, "other"));
    CircuitOverlap overlap{.faithfulness = faithfulness_of({other}).front()};
    for (const auto& [receiver, sender] : order_) {
      overlap.edges += other[receiver][sender] ? 1 : 0;
      overlap.shared += other[receiver][sender] && kept[receiver][sender] ? 1 : 0;
    }
    const Index either = count + overlap.edges - overlap.shared;
    overlap.chance = static_cast<double>(count) * static_cast<double>(overlap.edges) /
                     static_cast<double>(order_.size());
    overlap.jaccard =
        either > 0 ? static_cast<double>(overlap.shared) / static_cast<double>(either) : 0;
    return overlap;
  }

  // Returns the edges of these names, and sets their scores if asked to.
  KeptEdges edges_named(const std::vector<NamedEdge>& edges, const char* about,
                        std::vector<std::vector<double>>* scores = nullptr) const {
    std::map<std::string, EdgeIndex> indices;
    KeptEdges named;
    for (std::size_t r = 0; r < graph_.receivers().size(); ++r) {
      const CircuitGraph::Receiver& reader = graph_.receivers()[r];
      named.emplace_back(static_cast<std::size_t>(reader.senders), false);
      for (std::size_t s = 0; s < named.back().size(); ++s) {
        indices[edge_name({graph_.senders()[s], reader.node, reader.into})] = {r, s};
      }
    }
    for (const NamedEdge& edge : edges) {
      const auto found = indices.find(edge.name);
      require_value(found != indices.end(), about, "the model has no edge ", edge.name);
      const auto [receiver, sender] = found->second;
      require_value(!named[receiver][sender], about, "names ", edge.name, " twice");
      named[receiver][sender] = true;
      if (scores != nullptr) {
        (*scores)[receiver][sender] = edge.score;
      }
    }
    return named;
  }

  // Returns mean, least and largest faithfulness of sets of `count` random edges.
  Interval random_faithfulness(Index count) const {
    Interval result{0, std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
    std::vector<KeptEdges> sets;
    for (Index set = 0; set < options_.random_sets; ++set) {
      sets.push_back(random_edges(count, set));
    }
    for (const double faithfulness : faithfulness_of(sets)) {
      result.mean += faithfulness / static_cast<double>(options_.random_sets);
      result.low = std::min(result.low, faithfulness);
      result.high = std::max(result.high, faithfulness);
    }
    return result;
  }

  // Returns a union of random paths with `count` edges, or a few less where no path fits. All edges
  // of a circuit are on paths from the embedding to the logits; others carry nothing.
  KeptEdges random_edges(Index count, Index set) const {
    constexpr Index kTries = 1000;
    const RandomStream stream{options_.seed, static_cast<std::uint64_t>(set)};
    const std::vector<std::vector<std::size_t>> inputs = sender_inputs();
    std::uint64_t draws = 0;
    const auto random = [&](std::size_t choices) { return stream.below(draws++, choices); };
    KeptEdges kept = no_edges();
    for (Index misses = 0; count > 0 && misses < kTries; ++misses) {
      std::vector<EdgeIndex> path = random_path(inputs, random);
      std::erase_if(path, [&](const EdgeIndex& edge) { return kept[edge.first][edge.second]; });
      if (!path.empty() && std::ssize(path) <= count) {
        for (const EdgeIndex& edge : path) {
          kept[edge.first][edge.second] = true;
        }
        count -= std::ssize(path);
        misses = 0;
      }
    }
    return kept;
  }

  // Draws a path backwards: from the logits to a sender, from one of its inputs to a sender ... to
  // the embedding.
  template <class Random>
  std::vector<EdgeIndex> random_path(const std::vector<std::vector<std::size_t>>& inputs,
                                     const Random& random) const {
    std::vector<EdgeIndex> path;
    std::size_t receiver = graph_.receivers().size() - 1;
    while (true) {
      const auto sender = static_cast<std::size_t>(
          random(static_cast<std::size_t>(graph_.receivers()[receiver].senders)));
      path.emplace_back(receiver, sender);
      if (inputs[sender].empty()) {
        return path;
      }
      receiver = inputs[sender][random(inputs[sender].size())];
    }
  }

  // Returns the receivers that are inputs of each sender; none for the embedding.
  std::vector<std::vector<std::size_t>> sender_inputs() const {
    std::vector<std::vector<std::size_t>> inputs(graph_.senders().size());
    for (std::size_t receiver = 0; receiver < graph_.receivers().size(); ++receiver) {
      for (const std::size_t sender : graph_.readers(receiver)) {
        inputs[sender].push_back(receiver);
      }
    }
    return inputs;
  }

  KeptEdges no_edges() const {
    KeptEdges kept;
    for (const std::vector<double>& senders : scores_) {
      kept.emplace_back(senders.size(), false);
    }
    return kept;
  }

  void score() {
    for (const CircuitGraph::Receiver& receiver : graph_.receivers()) {
      scores_.emplace_back(static_cast<std::size_t>(receiver.senders), 0.0);
    }
    const KeptEdges given = edges_named(options_.given, "circuit", &scores_);
    if (options_.given.empty()) {
      texts_.add_scores(options_.steps, scores_,
                        [&](double share) { options_.progress(0.5 * share); });
    }
    const double pairs = options_.given.empty() ? static_cast<double>(texts_.pairs()) : 1.0;
    for (std::size_t receiver = 0; receiver < scores_.size(); ++receiver) {
      for (std::size_t sender = 0; sender < scores_[receiver].size(); ++sender) {
        scores_[receiver][sender] /= pairs;
        order_.push_back({receiver, sender});
      }
    }
    std::stable_sort(order_.begin(), order_.end(), [&](const EdgeIndex& a, const EdgeIndex& b) {
      return std::abs(scores_[a.first][a.second]) > std::abs(scores_[b.first][b.second]);
    });
    std::stable_partition(order_.begin(), order_.end(),
                          [&](const EdgeIndex& edge) { return given[edge.first][edge.second]; });
  }

  // Returns the `edges` strongest edges without dead ends.
  KeptEdges connected(Index edges) const {
    KeptEdges kept = no_edges();
    for (Index i = 0; i < edges; ++i) {
      const EdgeIndex& edge = order_[static_cast<std::size_t>(i)];
      kept[edge.first][edge.second] = true;
    }
    return without_dead_ends(std::move(kept));
  }
  // Drops edges on no path of kept edges from the embedding to the logits. They have no effect.
  KeptEdges without_dead_ends(KeptEdges kept) const {
    std::vector<bool> is_fed(graph_.senders().size(), false);  // has a kept path from the embedding
    is_fed[0] = true;
    for (std::size_t receiver = 0; receiver < kept.size(); ++receiver) {
      if (keep_where(is_fed, kept[receiver])) {
        for (const std::size_t reader : graph_.readers(receiver)) {
          is_fed[reader] = true;
        }
      }
    }
    std::vector<bool> is_heard(graph_.senders().size(), false);  // has a kept path to the logits
    for (std::size_t receiver = kept.size(); receiver-- > 0;) {
      const std::vector<std::size_t> readers = graph_.readers(receiver);
      const bool leads_on = graph_.receivers()[receiver].node.part == CircuitPart::logits ||
                            std::any_of(readers.begin(), readers.end(),
                                        [&](auto reader) { return is_heard[reader]; });
      for (std::size_t sender = 0; sender < kept[receiver].size(); ++sender) {
        kept[receiver][sender] = kept[receiver][sender] && leads_on;
        is_heard[sender] = is_heard[sender] || kept[receiver][sender];
      }
    }
    return kept;
  }
  // Drops the edges of a receiver from senders without `is_fed`. Returns whether any is left.
  static bool keep_where(const std::vector<bool>& is_fed, std::vector<bool>& kept) {
    bool any = false;
    for (std::size_t sender = 0; sender < kept.size(); ++sender) {
      kept[sender] = kept[sender] && is_fed[sender];
      any = any || kept[sender];
    }
    return any;
  }

  // Returns the model if tasks and options are valid.
  const Gpt& checked(const Gpt& model, const std::vector<PatchingTask>& tasks) const {
    constexpr Index kMost = 1000;
    require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
    require_causal(model);
    const double wanted = wanted_faithfulness();
    require_value(wanted > 0 && wanted <= 1, "faithfulness", "expected a number above 0 to 1, got ",
                  wanted);
    require_value(options_.edges >= 0, "edges", "expected a number from 0, got ", options_.edges);
    require_value(options_.edges == 0 || !options_.faithfulness, "faithfulness",
                  "cannot be combined with edges; give one of the two");
    require_value(options_.steps >= 1 && options_.steps <= kMost, "steps", "expected 1 to ", kMost,
                  ", got ", options_.steps);
    require_value(options_.random_sets >= 0 && options_.random_sets <= kMost, "random_sets",
                  "expected 0 to ", kMost, ", got ", options_.random_sets);
    return model;
  }
  double wanted_faithfulness() const {
    constexpr double kDefault = 0.8;
    return options_.faithfulness.value_or(kDefault);
  }

  // Returns the faithfulness of each set.
  std::vector<double> faithfulness_of(
      const std::vector<KeptEdges>& sets,
      const std::function<void(double)>& progress = [](double) {}) const {
    std::vector<double> reached;
    for (const std::vector<double>& differences : texts_.differences_with(sets, progress)) {
      reached.push_back(share_of(differences));
    }
    return reached;
  }
  // Returns the faithfulness of differences [pairs].
  double share_of(const std::vector<double>& differences) const {
    const auto total = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    const double empty = total(texts_.empty());
    return (total(differences) - empty) / (total(texts_.clean()) - empty);
  }

  // Returns the number of edges to keep: the edges wanted, all of a given circuit, or the smallest
  // number that reaches the faithfulness wanted, by bisection between two points of the curve
  // (tolerance 1/32).
  Index chosen(const std::vector<CircuitFit>& curve) const {
    if (options_.edges > 0 || !options_.given.empty()) {
      const Index all = curve.back().edges;
      return options_.edges > 0 ? std::min(options_.edges, all) : all;
    }
    Index low = 0;
    Index high = curve.back().edges;
    for (const CircuitFit& fit : curve) {
      if (fit.faithfulness >= wanted_faithfulness()) {
        high = fit.edges;
        break;
      }
      low = fit.edges;
    }
    const auto is_close = [](Index least, Index most) {
      return most - least <= std::max<Index>(1, most / 32);
    };
    while (!is_close(low, high)) {
      constexpr std::size_t kSets = 7;  // the middles of the next three steps, in one pass
      std::vector<std::pair<Index, Index>> ranges{{low, high}};
      std::vector<KeptEdges> sets;
      for (std::size_t i = 0; i < kSets; ++i) {
        const auto [least, most] = ranges[i];
        const Index middle = (least + most) / 2;
        sets.push_back(connected(middle));
        ranges.insert(ranges.end(), {{least, middle}, {middle, most}});
      }
      const std::vector<double> reached = faithfulness_of(sets);
      for (std::size_t i = 0; i < kSets && !is_close(low, high);) {
        const bool is_reached = reached[i] >= wanted_faithfulness();
        (is_reached ? high : low) = (low + high) / 2;
        i = 2 * i + (is_reached ? 1 : 2);
      }
    }
    return high;
  }

  const CircuitOptions& options_;
  CircuitGraph graph_;
  CircuitTexts texts_;
  std::vector<std::vector<double>> scores_;  // [receivers] of [senders]
  std::vector<EdgeIndex> order_;             // the strongest first
};

}  // namespace

CircuitResult find_circuit(const Gpt& model, const std::vector<PatchingTask>& tasks,
                           const CircuitOptions& options) {
  return CircuitSearch(model, tasks, options).run();
}

}  // namespace headlight
