#include "headlight/interpret/circuit/path_patching.h"

#include <algorithm>
#include <deque>
#include <span>

#include "headlight/base/error.h"
#include "headlight/interpret/head_set.h"
#include "headlight/ops/layout.h"
#include "interpret/circuit/circuit_graph.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Copies one head of a value [N, H, D].
void copy_head(const Tensor& from, Index head, Tensor& to) {
  slice(to, 1, head, head + 1).copy_from(slice(from, 1, head, head + 1));
}

// Steps of a pass: attention of layer l is step 2 l, its MLP step 2 l + 1, the logits come last.
struct PathStep {
  Index writes = -1;  // the embedding writes before all steps
  Index reads = 0;
};

PathStep step_of(const CircuitNode& node, const Gpt& model) {
  const Index layers = model.config().n_layer;
  switch (node.part) {
    case CircuitPart::embed:
      return {-1, -1};
    case CircuitPart::logits:
      return {2 * layers, 2 * layers};
    case CircuitPart::head:
      return {2 * node.layer, 2 * node.layer};
    case CircuitPart::mlp:
      break;
  }
  const Index read = model.config().parallel_residual ? 0 : 1;
  return {2 * node.layer + 1, 2 * node.layer + read};
}

void check_node(const CircuitNode& node, const Gpt& model, const char* about) {
  if (node.part == CircuitPart::head) {
    head_index({node.layer, node.head}, model.heads());
  } else if (node.part == CircuitPart::mlp) {
    const Index layers = model.config().mlp ? model.config().n_layer : 0;
    require_value(node.layer >= 0 && node.layer < layers, about, "the model has ", layers,
                  " layers with MLPs, got ", node_name(node));
  }
}

void check_path(const PatchPath& path, const Gpt& model) {
  require_value(!path.to.empty(), "receiver", "expected at least one receiver");
  require_value(path.from.part != CircuitPart::logits, "sender", "the logits send nothing");
  check_node(path.from, model, "sender");
  for (const PathReceiver& receiver : path.to) {
    check_node(receiver.node, model, "receiver");
    const bool is_head = receiver.node.part == CircuitPart::head;
    const Point into = receiver.into.value_or(Point::logits);
    require_value(!is_head || into == Point::q || into == Point::k || into == Point::v, "receiver",
                  "expected q, k or v of the receiver, got ", name_of(into));
    require_value(writes_before(model, path.from, receiver), "receiver",
                  "expected a receiver after ", node_name(path.from), ", got ",
                  node_name(receiver.node));
  }
}

// Point where a receiver's change acts: its query, key or value, or the output of its MLP.
PointInLayer spot_of(const PathReceiver& receiver) {
  return {receiver.into.value_or(Point::mlp_out), receiver.node.layer};
}

bool reaches_logits(const PatchPath& path) {
  return std::ranges::any_of(path.to, [](const PathReceiver& receiver) {
    return receiver.node.part == CircuitPart::logits;
  });
}

// Index of a receiving head on the axis of its values.
Index axis_index(const Gpt& model, const PathReceiver& receiver) {
  const Index index = head_index({receiver.node.layer, receiver.node.head}, model.heads());
  return receiver.into == Point::q
             ? index
             : block_plan(model.config(), receiver.node.layer).attention.key_head(index);
}

// Hook that replaces values at some points.
class PutValues final : public ForwardHook {
 public:
  bool wants(Point point, Index layer) const override { return values.contains({point, layer}); }
  Tensor visit(const HookSite& site, const Tensor& /*value*/) override {
    return values.at({site.point, site.layer});
  }

  PointValues values;
};

// A sender's outputs in both texts.
struct SentValues {
  PointInLayer spot;
  std::optional<Index> head = {};  // index in the value; none: all of it
  Index first = 0;                 // ChangedRun::first
};

// Holds the outputs of heads and MLPs at their values in the corrupt text, and the sender's at its
// values in the clean one.
class HoldOutputs final : public ForwardHook {
 public:
  // All must outlive it.
  HoldOutputs(const ForwardReplay& replay, const PointValues& held, const PointValues& clean,
              SentValues sent)
      : replay_(replay), held_(held), clean_(clean), sent_(std::move(sent)) {}

  bool wants(Point point, Index layer) const override {
    return sent_.spot == PointInLayer{point, layer} || held_.contains({point, layer});
  }
  Tensor visit(const HookSite& site, const Tensor& /*value*/) override {
    const PointInLayer spot{site.point, site.layer};
    const auto rows = [&](const PointValues& values) {
      return replay_.rows_from(values.at(spot), sent_.first);
    };
    if (spot != sent_.spot) {
      return rows(held_);
    }
    if (!sent_.head) {
      return rows(clean_);
    }
    Tensor changed = rows(held_).clone();
    copy_head(rows(clean_), *sent_.head, changed);
    return changed;
  }

 private:
  const ForwardReplay& replay_;
  const PointValues& held_;
  const PointValues& clean_;
  SentValues sent_;
};

// One pair of texts and the receivers of a path, for any number of senders.
class PathRun {
 public:
  // The task and the path must outlive it; path.from is not used.
  PathRun(const Gpt& model, const PatchingTask& task, const PatchPath& path, Index memory = 0)
      : model_(model),
        path_(path),
        memory_(memory),
        contrast_(model, task),
        replay_(read(task.corrupt, corrupt_values_)) {
    require_value(!reaches_logits(path) || path.to.size() == 1, "receiver",
                  "the logits cannot be combined with other receivers");
    clean_ = contrast_.of_replay(read(task.clean, clean_values_));
    corrupt_ = contrast_.of_replay(replay_);
    contrast_.require_different(clean_, corrupt_);
    for (const auto& [spot, value] : corrupt_values_) {
      if (spot.first == Point::z || (spot.first == Point::mlp_out && !path.recompute_mlps)) {
        held_[spot] = value;
      }
    }
  }

  // Returns the effect of each sender, [senders].
  std::vector<PathEffect> effects(const std::vector<CircuitNode>& senders,
                                  const std::function<void(double)>& progress) const {
    std::deque<HoldOutputs> held;
    std::vector<ChangedRun> runs;
    std::vector<std::size_t> changed;  // numbers of the senders of the runs
    for (std::size_t i = 0; i < senders.size(); ++i) {
      if (const std::optional<SentValues> sent = sent_by(senders[i])) {
        runs.push_back({&held.emplace_back(replay_, held_, clean_values_, *sent), sent->spot.second,
                        sent->first});
        changed.push_back(i);
      }
    }
    std::vector<PathEffect> effects(senders.size(), {corrupt_, 0});
    std::span<const ChangedRun> left(runs);
    for (auto sender = changed.begin(); !left.empty();) {
      const auto together = left.first(replay_.runs_at_once(left));
      left = left.subspan(together.size());
      for (const double difference :
           reaches_logits(path_) ? differences_of(together) : differences_of_received(together)) {
        effects[*sender++] = {difference, (difference - corrupt_) / (clean_ - corrupt_)};
      }
      progress(1 - static_cast<double>(left.size()) / static_cast<double>(runs.size()));
    }
    return effects;
  }

 private:
  ForwardReplay read(const std::vector<std::int32_t>& text, PointValues& values) const {
    KeepValues keep([this](Point point, Index layer) {
      return point == Point::z || point == Point::mlp_out ||
             (point == Point::resid_pre && layer == 0) || is_received({point, layer});
    });
    ForwardReplay replay(model_, contrast_.batch(text), &keep, memory_);
    values = std::move(keep.values);
    return replay;
  }
  bool is_received(const PointInLayer& spot) const {
    return std::ranges::any_of(
        path_.to, [&](const PathReceiver& receiver) { return spot_of(receiver) == spot; });
  }

  // Returns where a sender's outputs differ between the texts; none: nowhere.
  std::optional<SentValues> sent_by(const CircuitNode& from) const {
    SentValues sent{.spot = {Point::resid_pre, 0}};
    if (from.part == CircuitPart::head) {
      sent.spot = {Point::z, from.layer};
      sent.head = head_index({from.layer, from.head}, model_.heads());
    } else if (from.part == CircuitPart::mlp) {
      sent.spot = {Point::mlp_out, from.layer};
    }
    const auto rows = [&](const PointValues& values) {
      const Tensor& all = values.at(sent.spot);
      return to_contiguous(sent.head ? select(all, 1, *sent.head) : all);
    };
    const std::optional<Index> first =
        replay_.first_difference(rows(clean_values_), rows(corrupt_values_));
    sent.first = first.value_or(0);
    return first ? std::optional(sent) : std::nullopt;
  }

  std::vector<double> differences_of(std::span<const ChangedRun> runs) const {
    return contrast_.of_runs(replay_, runs);
  }

  // Differences with the receivers' inputs that the runs give.
  std::vector<double> differences_of_received(std::span<const ChangedRun> runs) const {
    std::deque<KeepValues> received;
    std::deque<HookPair> both;  // first shows outputs, then holds them
    std::deque<PutValues> changed;
    std::vector<ChangedRun> first;
    std::vector<ChangedRun> second;
    Index lowest = model_.config().n_layer;
    Index highest = 0;
    for (const PathReceiver& receiver : path_.to) {
      lowest = std::min(lowest, receiver.node.layer);
      highest = std::max(highest, receiver.node.layer);
    }
    for (const ChangedRun& run : runs) {
      KeepValues& kept = received.emplace_back([this](Point point, Index layer) {
        return is_received({point, layer});
      });
      first.push_back({&both.emplace_back(&kept, run.hook), run.layer, run.first});
      second.push_back({&changed.emplace_back(), lowest, run.first});
    }
    replay_.run_below(highest + 1, first);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      put_received(received[i].values, runs[i].first, changed[i].values);
    }
    return differences_of(second);
  }

  // Sets the receivers' inputs of a run from position `first` on.
  void put_received(const PointValues& received, Index first, PointValues& changed) const {
    for (const PathReceiver& receiver : path_.to) {
      const PointInLayer spot = spot_of(receiver);
      const auto [entry, is_new] =
          changed.try_emplace(spot, replay_.rows_from(corrupt_values_.at(spot), first));
      if (receiver.node.part == CircuitPart::head) {
        entry->second = is_new ? entry->second.clone() : entry->second;
        copy_head(received.at(spot), axis_index(model_, receiver), entry->second);
      } else {
        entry->second = received.at(spot);
      }
    }
  }

  const Gpt& model_;
  const PatchPath& path_;
  Index memory_;
  AnswerContrast contrast_;
  PointValues corrupt_values_;
  PointValues clean_values_;
  PointValues held_;
  ForwardReplay replay_;  // of the corrupt text
  double clean_ = 0;
  double corrupt_ = 0;
};

}  // namespace

CircuitNode parse_node(std::string_view about, std::string_view text) {
  if (text == "embed") {
    return {CircuitPart::embed};
  }
  if (text == "logits") {
    return {CircuitPart::logits};
  }
  const PointRange range = parse_point(about, text);
  const bool is_one = range.layers.last == range.layers.first;
  const bool is_head =
      range.point == Point::z && range.items && range.items->last == range.items->first;
  const bool is_mlp = range.point == Point::mlp_out && !range.items;
  require_value(is_one && (is_head || is_mlp), about,
                "expected embed, logits, an MLP such as mlp.3 or a head such as 5.1, got '", text,
                "'");
  const Index head = is_head ? range.items->first : 0;
  return {is_head ? CircuitPart::head : CircuitPart::mlp, range.layers.first, head, head};
}

PathReceiver parse_receiver(std::string_view about, std::string_view text) {
  const std::size_t dot = text.rfind('.');
  const std::string_view end = text.substr(dot == std::string_view::npos ? 0 : dot + 1);
  const bool has_end = dot != std::string_view::npos && (end == "q" || end == "k" || end == "v");
  PathReceiver receiver{parse_node(about, has_end ? text.substr(0, dot) : text)};
  require_value(has_end == (receiver.node.part == CircuitPart::head), about,
                "expected q, k or v of a head, such as 5.1.q, or mlp.3 or logits, got '", text,
                "'");
  if (has_end) {
    receiver.into = parse_name<Point>(about, end);
  }
  return receiver;
}

std::vector<CircuitNode> path_senders(const Gpt& model) { return CircuitGraph(model).senders(); }

bool writes_before(const Gpt& model, const CircuitNode& from, const PathReceiver& to) {
  return step_of(from, model).writes < step_of(to.node, model).reads;
}

PathEffect patch_path(const Gpt& model, const PatchingTask& task, const PatchPath& path) {
  check_path(path, model);
  return PathRun(model, task, path).effects({path.from}, [](double) {}).front();
}

std::vector<PathStudy> patch_paths(const Gpt& model, const std::vector<PatchingTask>& tasks,
                                   const std::vector<CircuitNode>& senders, PatchPath path,
                                   const std::function<void(double)>& progress, Index memory) {
  require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
  for (const CircuitNode& from : senders) {
    path.from = from;
    check_path(path, model);
  }
  std::vector<PathStudy> studies(senders.size());
  for (std::size_t pair = 0; pair < tasks.size(); ++pair) {
    const auto run = [&] {
      const std::vector<PathEffect> effects =
          PathRun(model, tasks[pair], path, memory).effects(senders, [&](double share) {
            progress((static_cast<double>(pair) + share) / static_cast<double>(tasks.size()));
          });
      for (std::size_t i = 0; i < senders.size(); ++i) {
        studies[i].pairs.push_back(effects[i]);
      }
    };
    if (tasks.size() == 1) {
      run();
    } else {
      in_place(concat_text("pair ", pair + 1, ": "), run);
    }
  }
  for (PathStudy& study : studies) {
    std::vector<DocumentSum> shares;
    for (const PathEffect& effect : study.pairs) {
      shares.push_back({effect.recovered, 1});
      study.difference += effect.difference / static_cast<double>(tasks.size());
    }
    study.recovered = bootstrap_mean(shares);
  }
  return studies;
}

}  // namespace headlight
