#include "headlight/interpret/circuit/circuit.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
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

// One pair of texts with its activations.
class CircuitPair {
 public:
  CircuitPair(const Gpt& model, const CircuitGraph& graph, const PatchingTask& task)
      : model_(model),
        graph_(graph),
        task_(task),
        contrast_(model, task),
        replay_(model, contrast_.batch(task.clean)) {
    clean_ = contrast_.of_replay(replay_);
    corrupt_ = contrast_.difference(model, task.corrupt);
    contrast_.require_different(clean_, corrupt_);
    written_clean_ = sender_rows(model, graph, contrast_.batch(task.clean));
    written_corrupt_ = sender_rows(model, graph, contrast_.batch(task.corrupt));
    set_cut(written_corrupt_);
    empty_ = corrupt_;
  }

  double clean() const { return clean_; }
  double corrupt() const { return corrupt_; }
  double empty() const { return empty_; }  // with all edges cut
  const SenderRows& written_corrupt() const { return written_corrupt_; }
  // Returns whether the rows of both pairs are at the same positions.
  bool fits(const CircuitPair& other) const {
    return contrast_.starts() == other.contrast_.starts();
  }
  // Sets the values of cut edges. Throws Error about "pairs" if they leave the metric as it is.
  void cut_to(SenderRows rows) {
    set_cut(std::move(rows));
    KeptEdges none;
    for (const CircuitGraph::Receiver& receiver : graph_.receivers()) {
      none.emplace_back(static_cast<std::size_t>(receiver.senders), false);
    }
    empty_ = differences_with({none}).front();
    require_value(empty_ != clean_, "pairs", "cut edges leave the measure as it is, ", clean_);
  }

  // Adds the edges' shares of the difference, [receivers] of [senders].
  void add_scores(Index steps, std::vector<std::vector<double>>& scores) const {
    for (Index step = 0; step < steps; ++step) {
      // Midpoint of each piece of the line; for one step its end, the clean text.
      const double at =
          steps == 1 ? 1 : (static_cast<double>(step) + 0.5) / static_cast<double>(steps);
      const Tensor from = embedding_of(cut_);
      ReaderGradients hook(model_.config().n_layer, graph_.mlp_port(),
                           from + (embedding_of(written_clean_) - from) * at);
      const FrozenWeights frozen(model_);
      backward(contrast_.after(model_, task_.clean, &hook));
      const double weight = 1 / (static_cast<double>(steps) * (clean_ - empty_));
      add_scores_of(hook, weight, scores);
    }
  }

  // Differences on the clean text with all edges cut that are not kept, for each set.
  std::vector<double> differences_with(const std::vector<KeptEdges>& sets) const {
    constexpr Index kElements = 1 << 25;  // of the changes of all senders
    const NoGrad no_grad;
    const auto at_once =
        static_cast<std::size_t>(std::max<Index>(1, kElements / cut_.rows.numel()));
    std::vector<double> differences;
    while (differences.size() < sets.size()) {
      std::deque<EdgeCut> hooks;
      std::vector<ChangedRun> runs;
      for (std::size_t i = differences.size(); i < sets.size() && runs.size() < at_once; ++i) {
        runs.push_back({&hooks.emplace_back(model_, graph_, sets[i], cut_from_), 0, first_});
      }
      std::ranges::copy(contrast_.of_runs(replay_, task_.clean, runs),
                        std::back_inserter(differences));
    }
    return differences;
  }

 private:
  void set_cut(SenderRows rows) {
    cut_ = std::move(rows);
    const Index width = model_.config().n_embd;
    const Index senders = cut_.rows.size(0);
    const auto by_token = [&](const Tensor& written) {  // [N, S, C]
      return to_contiguous(
          transpose(reshape(written, {senders, replay_.batch().token_count(), width}), 0, 1));
    };
    const Tensor cut = by_token(cut_.rows);
    first_ = replay_.first_difference(by_token(written_clean_.rows), cut).value_or(0);
    const Tensor rows_from = to_contiguous(transpose(replay_.rows_from(cut, first_), 0, 1));
    cut_from_ = {reshape(rows_from, {senders, rows_from.numel() / senders}), {}};
    for (const auto& [spot, scale] : cut_.scales) {
      cut_from_.scales[spot] = to_contiguous(replay_.rows_from(scale, first_));
    }
  }

  Tensor embedding_of(const SenderRows& written) const {
    const Index width = model_.config().n_embd;
    return reshape(slice(written.rows, 0, 0, 1), {written.rows.size(1) / width, width});
  }
  void add_scores_of(const ReaderGradients& hook, double weight,
                     std::vector<std::vector<double>>& scores) const {
    const Index layers = model_.config().n_layer;
    SenderChange change(model_, graph_, cut_);
    change.write(0, written_clean_.rows);
    const auto pass_norm = [&](Branch branch, Index layer) {
      const auto scale = written_clean_.scales.find({post_norm_scale(branch), layer});
      if (scale != written_clean_.scales.end()) {
        change.pass_norm(branch, layer, scale->second);
      }
    };
    const Point mlp_port = graph_.mlp_port();
    for (Index layer = 0; layer < layers; ++layer) {
      const Tensor& stream = hook.stream(Point::resid_pre, layer);  // [N, C]
      Index part = 0;
      for (const Point port : {Point::q, Point::k, Point::v}) {
        const Index count = graph_.port(port, layer).count;
        const Tensor streams = expand(reshape(stream, {1, stream.size(0), stream.size(1)}),
                                      {count, stream.size(0), stream.size(1)});
        add_port({port, layer}, weight, change.values(), scores,
                 read_gradient(model_, layer, part++, streams, hook.gradient(port, layer)));
      }
      pass_norm(Branch::attention, layer);
      if (block_plan(model_.config(), layer).mlp_width) {
        add_port({mlp_port, layer}, weight, change.values(), scores,
                 mlp_read_gradient(model_, layer, mlp_port, hook.stream(Point::resid_mid, layer),
                                   hook.gradient(mlp_port, layer)));
        pass_norm(Branch::mlp, layer);
      }
    }
    add_port({Point::logits, layers - 1}, weight, change.values(), scores,
             hook.gradient(Point::resid_post, layers - 1));
  }

  // Adds the scores of one port's edges, from the gradients of the readers' streams, [R, N, C].
  void add_port(const PointInLayer& port, double weight, const Tensor& change,
                std::vector<std::vector<double>>& scores, const Tensor& gradients) const {
    const NoGrad no_grad;
    const auto [first, count, senders] = graph_.port(port.first, port.second);
    const Tensor rows = reshape(gradients, {count, change.size(1)});
    const std::vector<double> products =
        matmul(rows, transpose(slice(change, 0, 0, senders), 0, 1)).to_vector();  // [R, S]
    for (std::size_t i = 0; i < products.size(); ++i) {
      const auto receiver = static_cast<std::size_t>(first) + i / static_cast<std::size_t>(senders);
      scores[receiver][i % static_cast<std::size_t>(senders)] += weight * products[i];
    }
  }

  const Gpt& model_;
  const CircuitGraph& graph_;
  const PatchingTask& task_;
  AnswerContrast contrast_;
  ForwardReplay replay_;  // of the clean text
  double clean_ = 0;
  double corrupt_ = 0;
  SenderRows written_clean_;
  SenderRows written_corrupt_;
  SenderRows cut_;       // values of cut edges
  Index first_ = 0;      // of the runs with cut edges: before it these are as in the clean text
  SenderRows cut_from_;  // the rows of such a run
  double empty_ = 0;
};

// Index of an edge: receiver, then sender.
using EdgeIndex = std::pair<std::size_t, std::size_t>;

class CircuitSearch {
 public:
  CircuitSearch(const Gpt& model, const std::vector<PatchingTask>& tasks,
                const CircuitOptions& options)
      : graph_(model), options_(options) {
    require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
    check_options(model);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto add = [&] { pairs_.emplace_back(model, graph_, tasks[i]); };
      if (tasks.size() == 1) {
        add();
      } else {
        in_place(concat_text("pair ", i + 1, ": "), add);
      }
    }
    if (options.ablation != CircuitAblation::corrupt) {
      set_cut_values(model);
    }
  }

  CircuitResult run() {
    score();
    CircuitResult result;
    for (const CircuitPair& pair : pairs_) {
      const auto count = static_cast<double>(pairs_.size());
      result.clean_difference += pair.clean() / count;
      result.corrupt_difference += pair.corrupt() / count;
      const TaskStrength strength = task_strength(pair.clean(), pair.corrupt());
      result.pairs_done += strength == TaskStrength::clear ? 1 : 0;
    }
    const Index all = std::ssize(order_);
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
    const Index budget = options_.edges > 0 ? std::min(options_.edges, all) : enough(result.curve);
    const KeptEdges kept = connected(budget);
    result.faithfulness = faithfulness_of({kept}).front();
    for (const auto& [receiver, sender] : order_) {
      const CircuitGraph::Receiver& reader = graph_.receivers()[receiver];
      result.edges.push_back({graph_.senders()[sender], reader.node, reader.into,
                              scores_[receiver][sender], kept[receiver][sender]});
      result.kept += kept[receiver][sender] ? 1 : 0;
    }
    if (options_.random_sets > 0) {
      result.random = random_faithfulness(result.kept);
    }
    return result;
  }

 private:
  void set_cut_values(const Gpt& model) {
    for (const CircuitPair& pair : pairs_) {
      require_value(pair.fits(pairs_.front()), "pairs", "ablation by ", name_of(options_.ablation),
                    " needs texts of the same number of tokens");
    }
    if (options_.ablation == CircuitAblation::mean) {
      require_value(model.config().norm != NormPosition::post, "ablation",
                    "mean values have no meaning in a post-norm model; use resample");
      const SenderRows rows = mean_corrupt_rows();
      for (CircuitPair& pair : pairs_) {
        pair.cut_to(rows);
      }
      return;
    }
    require_value(pairs_.size() >= 2, "pairs", "resample needs two pairs or more, got 1");
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      pairs_[i].cut_to(pairs_[(i + 1) % pairs_.size()].written_corrupt());
    }
  }

  SenderRows mean_corrupt_rows() const {
    const NoGrad no_grad;
    Tensor sum = pairs_.front().written_corrupt().rows;
    for (std::size_t i = 1; i < pairs_.size(); ++i) {
      sum = sum + pairs_[i].written_corrupt().rows;
    }
    return {sum / static_cast<double>(pairs_.size()), {}};
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
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      pairs_[i].add_scores(options_.steps, scores_);
      options_.progress(0.5 * static_cast<double>(i + 1) / static_cast<double>(pairs_.size()));
    }
    for (std::size_t receiver = 0; receiver < scores_.size(); ++receiver) {
      for (std::size_t sender = 0; sender < scores_[receiver].size(); ++sender) {
        scores_[receiver][sender] /= static_cast<double>(pairs_.size());
        order_.push_back({receiver, sender});
      }
    }
    std::stable_sort(order_.begin(), order_.end(), [&](const EdgeIndex& a, const EdgeIndex& b) {
      return std::abs(scores_[a.first][a.second]) > std::abs(scores_[b.first][b.second]);
    });
  }

  // Returns the `edges` strongest edges, but drops edges on no path of kept edges from the
  // embedding to the logits. Dropped edges have no effect.
  KeptEdges connected(Index edges) const {
    KeptEdges kept = no_edges();
    for (Index i = 0; i < edges; ++i) {
      const EdgeIndex& edge = order_[static_cast<std::size_t>(i)];
      kept[edge.first][edge.second] = true;
    }
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

  void check_options(const Gpt& model) const {
    constexpr Index kMost = 1000;
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
  }
  double wanted_faithfulness() const {
    constexpr double kDefault = 0.8;
    return options_.faithfulness.value_or(kDefault);
  }

  // Returns the faithfulness of each set.
  std::vector<double> faithfulness_of(
      const std::vector<KeptEdges>& sets,
      const std::function<void(double)>& progress = [](double) {}) const {
    std::vector<double> reached(sets.size(), 0.0);
    double whole = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const std::vector<double> differences = pairs_[i].differences_with(sets);
      for (std::size_t set = 0; set < sets.size(); ++set) {
        reached[set] += differences[set] - pairs_[i].empty();
      }
      whole += pairs_[i].clean() - pairs_[i].empty();
      progress(static_cast<double>(i + 1) / static_cast<double>(pairs_.size()));
    }
    for (double& share : reached) {
      share /= whole;
    }
    return reached;
  }

  // Smallest number of edges that reaches the faithfulness, by bisection between two points of the
  // curve (tolerance 1/32).
  Index enough(const std::vector<CircuitFit>& curve) const {
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

  CircuitGraph graph_;
  const CircuitOptions& options_;
  std::vector<CircuitPair> pairs_;
  std::vector<std::vector<double>> scores_;  // [receivers] of [senders]
  std::vector<EdgeIndex> order_;             // the strongest first
};

}  // namespace

CircuitResult find_circuit(const Gpt& model, const std::vector<PatchingTask>& tasks,
                           const CircuitOptions& options) {
  return CircuitSearch(model, tasks, options).run();
}

}  // namespace headlight
