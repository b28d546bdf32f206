#include "headlight/interpret/circuit/path_patching.h"

#include <algorithm>

#include "headlight/base/error.h"
#include "headlight/interpret/head_set.h"
#include "headlight/ops/layout.h"
#include "interpret/circuit/circuit_graph.h"
#include "interpret/effects/answer_contrast.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Hook that replaces values at some points.
class PutValues final : public ForwardHook {
 public:
  bool wants(Point point, Index layer) const override { return values.contains({point, layer}); }
  Tensor visit(const HookSite& site, const Tensor& /*value*/) override {
    return values.at({site.point, site.layer});
  }

  PointValues values;
};

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

// One pair of texts and the receivers of a path, for any number of senders.
class PathRun {
 public:
  // The task and the path must outlive it; path.from is not used.
  PathRun(const Gpt& model, const PatchingTask& task, const PatchPath& path)
      : model_(model), task_(task), path_(path), contrast_(model, task) {
    require_value(!reaches_logits(path) || path.to.size() == 1, "receiver",
                  "the logits cannot be combined with other receivers");
    clean_ = contrast_.difference(model, task.clean);
    corrupt_ = contrast_.difference(model, task.corrupt);
    contrast_.require_different(clean_, corrupt_);
    clean_values_ = values_of(model, contrast_.batch(task.clean), is_sent);
    corrupt_values_ =
        values_of(model, contrast_.batch(task.corrupt), [&](Point point, Index layer) {
          return is_sent(point, layer) || is_received({point, layer});
        });
  }

  PathEffect effect(const CircuitNode& from) const {
    const double difference = difference_with(from);
    return {difference, (difference - corrupt_) / (clean_ - corrupt_)};
  }

 private:
  static bool is_sent(Point point, Index layer) {
    return point == Point::z || point == Point::mlp_out ||
           (point == Point::resid_pre && layer == 0);
  }
  bool is_received(const PointInLayer& spot) const {
    return std::ranges::any_of(
        path_.to, [&](const PathReceiver& receiver) { return spot_of(receiver) == spot; });
  }

  // Difference with the receivers' inputs changed.
  double difference_with(const CircuitNode& from) const {
    PutValues held;
    hold_outputs(from, held.values);
    if (reaches_logits(path_)) {
      return contrast_.difference(model_, task_.corrupt, &held);
    }
    KeepValues received([&](Point point, Index layer) { return is_received({point, layer}); });
    HookPair both(&received, &held);  // first shows outputs, then holds them
    contrast_.difference(model_, task_.corrupt, &both);
    PutValues changed;
    for (const PathReceiver& receiver : path_.to) {
      const PointInLayer spot = spot_of(receiver);
      const auto [entry, is_new] = changed.values.try_emplace(spot, corrupt_values_.at(spot));
      entry->second = is_new ? entry->second.clone() : entry->second;
      if (receiver.node.part == CircuitPart::head) {
        copy_head(received.values.at(spot), axis_index(model_, receiver), entry->second);
      } else {
        entry->second = received.values.at(spot);
      }
    }
    return contrast_.difference(model_, task_.corrupt, &changed);
  }

  // Sets the corrupt outputs of heads and MLPs, and the clean one of the sender.
  void hold_outputs(const CircuitNode& from, PointValues& held) const {
    for (const auto& [spot, value] : corrupt_values_) {
      if (spot.first == Point::z || (spot.first == Point::mlp_out && !path_.recompute_mlps)) {
        held[spot] = value;
      }
    }
    if (from.part == CircuitPart::head) {
      const PointInLayer sender{Point::z, from.layer};
      Tensor changed = held.at(sender).clone();
      copy_head(clean_values_.at(sender), head_index({from.layer, from.head}, model_.heads()),
                changed);
      held[sender] = changed;
    } else {
      const PointInLayer sender = from.part == CircuitPart::mlp
                                      ? PointInLayer{Point::mlp_out, from.layer}
                                      : PointInLayer{Point::resid_pre, 0};
      held[sender] = clean_values_.at(sender);
    }
  }

  const Gpt& model_;
  const PatchingTask& task_;
  const PatchPath& path_;
  AnswerContrast contrast_;
  double clean_ = 0;
  double corrupt_ = 0;
  PointValues clean_values_;
  PointValues corrupt_values_;
};

}  // namespace

PatchPath head_path(const HeadId& from, const HeadId& to, Point into) {
  return {.from = {CircuitPart::head, from.layer, from.head, from.head},
          .to = {{{CircuitPart::head, to.layer, to.head, to.head}, into}}};
}

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

std::string receiver_name(const PathReceiver& receiver) {
  return node_name(receiver.node) +
         (receiver.into ? "." + std::string(name_of(*receiver.into)) : "");
}

std::vector<CircuitNode> path_senders(const Gpt& model) { return CircuitGraph(model).senders(); }

bool writes_before(const Gpt& model, const CircuitNode& from, const PathReceiver& to) {
  return step_of(from, model).writes < step_of(to.node, model).reads;
}

PathEffect patch_path(const Gpt& model, const PatchingTask& task, const PatchPath& path) {
  check_path(path, model);
  return PathRun(model, task, path).effect(path.from);
}

std::vector<PathStudy> patch_paths(const Gpt& model, const std::vector<PatchingTask>& tasks,
                                   const std::vector<CircuitNode>& senders, PatchPath path,
                                   const std::function<void(double)>& progress) {
  require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
  for (const CircuitNode& from : senders) {
    path.from = from;
    check_path(path, model);
  }
  std::vector<PathStudy> studies(senders.size());
  const auto all = static_cast<double>(tasks.size() * senders.size());
  for (std::size_t pair = 0; pair < tasks.size(); ++pair) {
    const auto run = [&] {
      const PathRun of_pair(model, tasks[pair], path);
      for (std::size_t i = 0; i < senders.size(); ++i) {
        studies[i].pairs.push_back(of_pair.effect(senders[i]));
        progress(static_cast<double>(pair * senders.size() + i + 1) / all);
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
