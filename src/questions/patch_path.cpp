#include "questions/patch_path.h"

#include <algorithm>

#include "headlight/interpret/circuit/path_patching.h"
#include "questions/task_parameters.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

PatchPath read_path(const std::string& text) {
  const std::size_t colon = text.find(':');
  require_value(colon != std::string::npos, "path",
                "expected FROM:TO.q, .k or .v, e.g. 0.4:3.1.k, or FROM:mlp.3, got '", text, "'");
  return {.from = parse_node("path", text.substr(0, colon)),
          .to = {parse_receiver("path", text.substr(colon + 1))}};
}

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

}  // namespace

QuestionResult patch_one_path(const Asker& asker, const Arguments& arguments) {
  const PatchPath path = read_path(arguments.text("path"));
  constexpr Index kPasses = 4;  // both texts, the receivers' inputs, and their effect
  const std::vector<PatchingTask> tasks =
      read_tasks(asker, arguments, [](const std::vector<PatchingTask>& read) {
        return kPasses * std::ssize(read.front().clean);
      });
  const PathEffect effect = patch_path(asker.model, tasks.front(), path);
  const std::optional<Point> into = path.to.front().into;
  const std::string receiver = shared_receiver_name(path.to.front(), asker.model.heads());
  return {.title = "Effect of a path",
          .heading = concat_text("the output of ", node_name(path.from), " through ",
                                 into ? concat_text("the ", name_of(*into), " of ") : std::string(),
                                 receiver, " recovers ", signed_number(effect.recovered, 3),
                                 " (difference ", signed_number(effect.difference, 3), ")\n"),
          .facts = {{"from", node_name(path.from)},
                    {"to", receiver},
                    {"into", into ? Json(name_of(*into)) : Json()},
                    {"metric", TaskReport{asker, arguments, tasks, {}}.metric_name()},
                    {"difference", effect.difference},
                    {"recovered", effect.recovered}}};
}

}  // namespace headlight
