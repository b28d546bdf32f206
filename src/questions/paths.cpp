#include <algorithm>

#include "base/transformed.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"

namespace headlight {
namespace {

constexpr const char* kPathsDetails =
    "Path patching: the model reads the corrupt text, and the clean output of a sender reaches the "
    "inputs of the receivers directly. All other heads keep their output on the corrupt text, and "
    "MLPs, too, without recompute_mlps. No norm is held fixed: the norm before a receiver is "
    "computed anew. Several receivers change together; every sender is measured alone.\n\n"
    "recovered is 0 as after the corrupt text and 1 as after the clean one. Several pairs give "
    "means with 95 % intervals. Heads that share keys and values are patched and named together: "
    "3.0-2.\n\n"
    "The arrays are recovered and difference [S] of the senders, and heads [L, H]: recovered of "
    "the heads, NaN where not measured.";

// Name of the receiving head. A patched key or value names all heads that share it.
std::string shared_receiver_name(const PathReceiver& receiver, const HeadLayout& heads) {
  CircuitNode node = receiver.node;
  if (node.part != CircuitPart::head || receiver.into == Point::q) {
    return node_name(node);
  }
  const std::vector<Index>& numbers = heads.numbers[static_cast<std::size_t>(node.layer)];
  const Index key = heads.key_index(node.layer, head_index({node.layer, node.head}, heads));
  for (Index index = std::ssize(numbers) - 1; index >= 0; --index) {
    if (heads.key_index(node.layer, index) == key) {
      node.head = numbers[static_cast<std::size_t>(index)];
      node.last = std::max(node.last, node.head);
    }
  }
  return node_name(node);
}

// Returns all nodes that write before the first receiver.
std::vector<CircuitNode> nodes_before(const Gpt& model, const std::vector<PathReceiver>& to) {
  std::vector<CircuitNode> nodes;
  for (const CircuitNode& node : path_senders(model)) {
    if (std::ranges::all_of(to, [&](const PathReceiver& receiver) {
          return writes_before(model, node, receiver);
        })) {
      nodes.push_back(node);
    }
  }
  require_value(!nodes.empty(), "receiver", "expected a receiver after some node");
  return nodes;
}

// Names of the receivers' inputs, such as "q of 3.1, mlp.5".
std::string receiver_names(const std::vector<PathReceiver>& receivers, const HeadLayout& heads) {
  std::string names;
  for (const PathReceiver& receiver : receivers) {
    names += names.empty() ? "" : ", ";
    names += (receiver.into ? concat_text(name_of(*receiver.into), " of ") : "") +
             shared_receiver_name(receiver, heads);
  }
  return names;
}

ResultTable path_table(const std::vector<CircuitNode>& senders,
                       const std::vector<PathStudy>& studies) {
  const ColumnsOf of_senders{senders};
  const ColumnsOf of_studies{studies};
  const auto of_head = [](Index CircuitNode::*number) {
    return [=](const CircuitNode& node) {
      return node.part == CircuitPart::head ? std::optional(node.*number) : std::nullopt;
    };
  };
  const ResultAxis sender{.title = "sender", .column = "sender"};
  return {.columns = {of_senders("sender", node_name, "sender"),
                      of_senders.hidden("layer", of_head(&CircuitNode::layer)),
                      of_senders.hidden("index", of_head(&CircuitNode::head)),
                      of_studies("recovered", &PathStudy::recovered, "recovered"),
                      of_studies("difference", &PathStudy::difference, "difference")},
          .views =
              {{"recovered", "recovered", "Recovered by the paths from each sender", sender, {}, 1},
               {"difference", "difference", "Metric with each path patched", sender},
               {"heads", "recovered", "Recovered by the paths from each head", kLayerAxis,
                kHeadAxis, 1}},
          .ranking = Ranking::size,
          .ranked_by = "recovered"};
}

QuestionResult paths(const Asker& asker, const Arguments& arguments) {
  PatchPath path{.from = {}, .to = {}, .recompute_mlps = arguments.flag("recompute_mlps")};
  path.to = transformed(arguments.texts("receiver"),
                        [](const std::string& name) { return parse_receiver("receiver", name); });
  const std::vector<CircuitNode> senders =
      arguments.given("sender")
          ? transformed(arguments.texts("sender"),
                        [](const std::string& name) { return parse_node("sender", name); })
          : nodes_before(asker.model, path.to);
  const TaskCost cost = [&](const std::vector<PatchingTask>& tasks) {
    Index tokens = 0;
    for (const PatchingTask& task : tasks) {
      tokens += (2 + 2 * std::ssize(senders)) * std::ssize(task.clean);
    }
    return tokens;
  };
  const std::vector<PatchingTask> tasks = read_tasks(asker, arguments, cost);
  const std::vector<PathStudy> studies =
      patch_paths(asker.model, tasks, senders, path, asker.progress, memory_of(arguments));
  const std::string receivers = receiver_names(path.to, asker.model.heads());
  return {.title = "Effect of paths",
          .heading = "paths to " + receivers + "\n",
          .facts = {{"receiver", receivers},
                    {"metric", TaskReport{asker, arguments, tasks, {}}.metric_name()},
                    {"pairs", tasks.size()}},
          .tables = {path_table(senders, studies)}};
}

std::vector<Parameter> paths_parameters() {
  return with(task_parameters(),
              {{.name = "receiver",
                .help = "Input at which paths end: q, k or v of a head (5.1.q), mlp.3 or logits",
                .kind = ValueKind::texts,
                .is_required = true,
                .is_basic = true},
               {.name = "sender",
                .help = "Where paths begin: embed, a head (5.1) or mlp.3 (default: all that write "
                        "before the receivers)",
                .kind = ValueKind::texts,
                .is_basic = true},
               {.name = "recompute_mlps",
                .help = "MLPs between sender and receivers follow the change",
                .kind = ValueKind::flag},
               memory_parameter()});
}

}  // namespace

const Question& paths_question() {
  static const Question question{
      .name = "paths",
      .summary = "Follow the direct paths from heads and MLPs to the inputs of later ones.",
      .details = kPathsDetails + std::string("\n\n") + kTaskDetails,
      .examples =
          {"headlight paths runs/toy " + kExamplePair + " --sender 0.0 --receiver 1.0.k",
           "headlight paths runs/toy --pairs pairs.jsonl --receiver logits --svg paths.svg"},
      .parameters = paths_parameters(),
      .facts = {{"receiver", "the inputs; heads that share one as 3.0-2"},
                {"metric", "logit_difference, log_probability_difference or that of metric"},
                {"pairs", "their number"}},
      .rows = "paths",
      .columns = {{"sender", "embed, a head or an MLP"},
                  {"difference", "the metric with the path patched"},
                  {"recovered, recovered_low, recovered_high", "0: corrupt text, 1: clean text"}},
      .positional = {"pairs", "receiver", "sender"},
      .answer = paths};
  return question;
}

}  // namespace headlight
