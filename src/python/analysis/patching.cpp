#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "headlight/interpret/circuit/path_patching.h"
#include "python/analysis/metric.h"
#include "python/analysis/result.h"
#include "python/analysis/task.h"
#include "python/bindings.h"
#include "python/model/inputs.h"
#include "python/progress.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

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

// Returns the measures of all senders, and of the heads by layer and head.
std::vector<ResultGrid> path_grids(const std::vector<CircuitNode>& senders,
                                   const std::vector<PathStudy>& studies) {
  MatrixPlot shares{
      .title = "Recovered by the paths from each sender", .row_title = "sender", .limit = 1};
  MatrixPlot differences{.title = "Metric with each path patched", .row_title = "sender"};
  std::vector<HeadValue> heads;
  for (std::size_t i = 0; i < senders.size(); ++i) {
    const CircuitNode& from = senders[i];
    const std::string name = node_name(from);
    const Interval& share = studies[i].recovered;
    shares.rows.push_back(name);
    differences.rows.push_back(name);
    shares.values.push_back(share.mean);
    shares.lows.push_back(share.low);
    shares.highs.push_back(share.high);
    differences.values.push_back(studies[i].difference);
    if (from.part == CircuitPart::head) {
      heads.push_back({{from.layer, from.head}, share});
    }
  }
  shares.columns = differences.columns = {""};
  std::vector<ResultGrid> grids{{"recovered", std::move(shares)},
                                {"difference", std::move(differences)}};
  if (!heads.empty()) {
    MatrixPlot plot = head_plot(heads);
    plot.title = "Recovered by the paths from each head";
    plot.limit = 1;
    grids.push_back({"heads", std::move(plot)});
  }
  return grids;
}

Result patch_paths(Model& model, const nb::sequence& pairs, const nb::object& receiver,
                   const nb::object& sender, const nb::object& metric, bool recompute_mlps,
                   bool progress) {
  const std::vector<PatchingTask> tasks = patching_tasks(model, pairs, metric);
  PatchPath path{.from = {}, .to = {}, .recompute_mlps = recompute_mlps};
  for (const std::string& name : read_texts(receiver, "receiver")) {
    path.to.push_back(parse_receiver("receiver", name));
  }
  std::vector<CircuitNode> senders;
  if (sender.is_none()) {
    senders = nodes_before(model.gpt(), path.to);
  } else {
    for (const std::string& name : read_texts(sender, "sender")) {
      senders.push_back(parse_node("sender", name));
    }
  }
  const std::vector<PathStudy> studies = [&] {
    const Model::Use use(model);
    return headlight::patch_paths(model.gpt(), tasks, senders, path,
                                  progress_of("patching paths", progress));
  }();
  return result_of({.title = "Effect of paths", .grids = path_grids(senders, studies)}, nb::dict());
}

}  // namespace

void add_patching(nb::class_<Model>& model) {
  model.def(
      "patch_paths", &patch_paths, "pairs"_a, "receiver"_a, "sender"_a = nb::none(), nb::kw_only(),
      "metric"_a = "logit_difference", "recompute_mlps"_a = false, "progress"_a = true,
      nb::sig("def patch_paths(self, pairs: "
              "collections.abc.Sequence[tuple[headlight.types.ArrayLike, ...]], receiver: "
              "str | collections.abc.Sequence[str], sender: str | collections.abc.Sequence[str] | "
              "None = None, *, metric: str | Metric | "
              "collections.abc.Callable[[headlight.types.Array], float] = "
              "'logit_difference', recompute_mlps: bool = False, progress: bool = True) -> Result"),
      "Measures direct paths from senders to the inputs of receivers (path patching).\n\n"
      "Parameters\n----------\n"
      "pairs : tuples (clean, corrupt, answer, wrong), as in patch(); those of other lengths than "
      "the first are allowed.\n"
      "receiver : \"9.6.q\" (q, k or v of a head), \"mlp.5\" or \"logits\"; a list: inputs that "
      "change together.\n"
      "sender : \"embed\", a head such as \"5.1\" or \"mlp.3\", or a list of them; None: all that "
      "write before the receivers.\n"
      "metric : as in patch().\n"
      "recompute_mlps : MLPs between sender and receivers follow the change; False: they keep "
      "their corrupt outputs, as all other heads do.\n\n"
      "Returns\n-------\n"
      "recovered [S], means over the pairs with recovered_low and recovered_high: 0 as the corrupt "
      "texts and 1 as the clean ones when the clean output of a sender takes only these paths; "
      "difference [S], the metric itself; S are labels(\"sender\"). heads [L, H]: recovered of the "
      "heads, NaN where not measured.");
}

}  // namespace headlight::python
