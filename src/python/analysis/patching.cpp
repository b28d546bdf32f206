#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "python/analysis/metric.h"
#include "python/analysis/result.h"
#include "python/analysis/task.h"
#include "python/analysis/text_data.h"
#include "python/bindings.h"
#include "python/model/inputs.h"
#include "python/progress.h"
#include "show/report/effect_grids.h"
#include "show/report/patch_grid_report.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

constexpr std::array<std::string_view, 3> kPatchMethods{"patch", "attribution", "both"};

template <std::size_t kCount>
void require_choice(const char* about, const std::string& value,
                    const std::array<std::string_view, kCount>& choices) {
  std::string list;
  for (const std::string_view choice : choices) {
    list += (list.empty() ? "" : ", ") + std::string(choice);
  }
  require_value(std::ranges::find(choices, value) != choices.end(), about, "expected one of ", list,
                "; got '", value, "'");
}

// Method of patch().
struct PatchMethod {
  std::string name;
  bool noising = false;
  bool qk_fix = false;
  bool grad_drop = false;
  bool progress = true;
};

PatchGridOptions grid_options(const std::string& point, const std::optional<std::string>& by,
                              const PatchMethod& method) {
  const PointRange range = parse_point("point", point);
  require_value(!range.items, "point", "expected a whole point, such as z or z.3, got ", point);
  require_choice("method", method.name, kPatchMethods);
  PatchGridOptions options{.point = range.point,
                           .layers = range.layers,
                           .noising = method.noising,
                           .patch = method.name != "attribution",
                           .attribution = method.name != "patch",
                           .fix_pattern = method.qk_fix,
                           .drop_gradients = method.grad_drop,
                           .progress = progress_of("patching", method.progress)};
  set_parts(options, by.value_or(""));
  return options;
}

nb::dict patching_summary(double clean, double corrupt) {
  nb::dict summary;
  summary["clean_difference"] = clean;
  summary["corrupt_difference"] = corrupt;
  return summary;
}

Result patch_every_head(Model& model, const PatchingTask& task, bool progress) {
  const PatchingResult result = [&] {
    const Model::Use use(model);
    return patch_heads(model.gpt(), task, progress_of("patching", progress));
  }();
  nb::dict summary = patching_summary(result.clean_difference, result.corrupt_difference);
  summary["clear"] = result.strength() == TaskStrength::clear;
  return result_of(
      {.title = "Effect of patching heads", .grids = patching_grids(result, !task.metric)},
      std::move(summary));
}

Result patch_cells(Model& model, const PatchingTask& task, const PatchGridOptions& options) {
  const std::vector<PatchingTask> tasks{task};
  const PatchStudy study = [&] {
    const Model::Use use(model);
    return patch_pairs(model.gpt(), tasks, options);
  }();
  const PatchGrid& grid = study.pairs.front();
  nb::dict summary = patching_summary(grid.clean_difference, grid.corrupt_difference);
  summary["correlation"] = study.correlation;
  const PatchGridReport report{options, study, tasks, *model.tokenizer()};
  return result_of({.title = "Difference carried by " + std::string(name_of(options.point)),
                    .grids = patch_study_grids(report, false)},
                   std::move(summary));
}

Result patch(Model& model, const Inputs& clean, const Inputs& corrupt,
             const std::optional<Inputs>& answer, const std::optional<Inputs>& wrong,
             const nb::object& metric, const std::optional<std::string>& point,
             const std::optional<std::string>& by, const std::string& method, bool noising,
             bool qk_fix, bool grad_drop, bool progress) {
  const auto given = [](const std::optional<Inputs>& value) {
    return value ? value->value : nb::object(nb::none());
  };
  const PatchingTask task =
      patching_task(model, {clean.value, corrupt.value, given(answer), given(wrong), metric});
  if (!point && !by && method == "patch" && !noising && !qk_fix && !grad_drop) {
    return patch_every_head(model, task, progress);
  }
  const PatchMethod how{method, noising, qk_fix, grad_drop, progress};
  return patch_cells(model, task, grid_options(point.value_or("z"), by, how));
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

void add_patch(nb::class_<Model>& model) {
  model.def(
      "patch", &patch, "clean"_a, "corrupt"_a, "answer"_a = nb::none(), "wrong"_a = nb::none(),
      nb::kw_only(), "metric"_a = "logit_difference", "point"_a = nb::none(), "by"_a = nb::none(),
      "method"_a = "patch", "noising"_a = false, "qk_fix"_a = false, "grad_drop"_a = false,
      "progress"_a = true,
      nb::sig(
          "def patch(self, clean: headlight.types.ArrayLike, corrupt: headlight.types.ArrayLike, "
          "answer: headlight.types.ArrayLike | None = None, wrong: headlight.types.ArrayLike | "
          "None "
          "= None, *, metric: str | Metric | collections.abc.Callable[["
          "headlight.types.Array], float | tuple[float, headlight.types.ArrayLike]] = "
          "'logit_difference', point: str | None = None, by: str | None = None, method: str = "
          "'patch', noising: bool = False, qk_fix: bool = False, grad_drop: bool = False, "
          "progress: bool = True) -> "
          "Result"),
      "Finds the values that carry the difference between two texts of one length T.\n\n"
      "Parameters\n----------\n"
      "answer, wrong : continuations of the clean and of the corrupt text; None: the most probable "
      "tokens. The texts of a bidirectional model have one [MASK] at the same place, which the "
      "answers replace.\n"
      "metric : \"logit_difference\" of answer and wrong; \"probability\", "
      "\"log_probability\" or \"loss\" (-log p in nats) of the answer, one token; \"kl\", the "
      "divergence in nats of the last "
      "token's distribution from that of the clean text; a Metric; or a function of the logits "
      "[T, V] that returns a number, for attribution with its gradient: (number, [T, V]).\n"
      "point : point to patch, such as \"resid_pre\", \"z\" or \"pattern.3\"; None: z.\n"
      "by : \"layer\", \"head\", \"position\" or \"head,position\"; None: \"head\" where a point "
      "has heads, else \"position\".\n"
      "method : \"patch\" runs the model for each cell; \"attribution\" estimates all cells from "
      "one gradient; \"both\".\n"
      "noising : patch corrupt values into the clean text instead of the reverse.\n"
      "qk_fix, grad_drop : the two parts of AtP* (Kramár et al., 2024), for attribution. qk_fix "
      "computes the attention weights of patched q, k, rot_q and rot_k, for attention that "
      "saturates. grad_drop averages absolute attributions over backward passes without the paths "
      "through each layer, for effects that cancel; it loses the signs.\n\n"
      "Returns\n-------\n"
      "recovered, 0 as the unpatched text and 1 as the other one: [L, H], [L, T], or [L H, T] "
      "with the rows labels(\"head\"). Without point, by and method also difference [L, H], the "
      "metric itself. attribution: its estimate. In the summary, clean_difference and "
      "corrupt_difference are the metric of both texts.");
}

void add_paths(nb::class_<Model>& model) {
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

}  // namespace

void add_patching(nb::class_<Model>& model) {
  add_patch(model);
  add_paths(model);
}

}  // namespace headlight::python
