#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/datasets/text_dataset.h"
#include "headlight/interpret/circuit/circuit.h"
#include "headlight/interpret/lens/lens.h"
#include "python/analysis/result.h"
#include "python/analysis/task.h"
#include "python/analysis/text_data.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/progress.h"
#include "show/report/attribution_report.h"
#include "show/report/circuit_report.h"
#include "show/report/effect_grids.h"
#include "show/report/lens_report.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

HeadSet heads_argument(const std::optional<std::string>& heads) {
  return heads ? HeadSet::parse(*heads) : HeadSet{};
}

Result ablate(Model& model, const TextData& input, const std::string& mode,
              const std::optional<std::string>& heads, Index pairs, const std::string& documents,
              Index batch_size, const std::string& metric, bool progress) {
  const TokenDataset data = read_data(model, input, documents);
  AblationOptions options{.mode = parse_name<AblationMode>("mode", mode),
                          .heads = heads_argument(heads),
                          .pair_heads = pairs,
                          .metric = parse_name<MetricKind>("metric", metric),
                          .batch_size = batch_size};
  options.progress = progress_of("ablating heads", progress);
  if (!model.gpt().config().causal) {
    options.masking = masking_of(*model.tokenizer());
  }
  const AblationResult result = [&] {
    const Model::Use use(model);
    return ablate_heads(model.gpt(), data, options);
  }();
  nb::dict summary;
  const std::string metric_name(name_of(options.metric));
  summary["metric"] = metric_name;
  summary[metric_name.c_str()] = result.loss.mean;
  summary["sequences"] = result.sequences;
  summary["tokens"] = result.tokens;
  return result_of(
      {.title = concat_text("Rise of the ", metric_noun(options.metric), " without each head"),
       .grids = ablation_grids(result, options.metric)},
      std::move(summary));
}

Result importance(Model& model, const TextData& input, const std::string& documents,
                  Index batch_size, bool progress) {
  const TokenDataset data = read_data(model, input, documents);
  const ImportanceResult result = [&] {
    const Model::Use use(model);
    return head_importance(
        model.gpt(), data,
        {.batch_size = batch_size, .progress = progress_of("measuring importance", progress)});
  }();
  nb::dict summary;
  summary["loss"] = result.loss;
  summary["sequences"] = result.sequences;
  summary["tokens"] = result.tokens;
  return result_of(
      {.title = "Importance of each head for the loss", .grids = importance_grids(result, {})},
      std::move(summary));
}

Result attribute(Model& model, const Inputs& text, const Inputs& target,
                 const std::optional<Inputs>& against, const std::string& by,
                 std::optional<Index> position) {
  AttributionTask task{.text = task_ids(model, text.value, "text", false),
                       .target = one_token(model, target.value, "target"),
                       .position = position};
  if (against) {
    task.against = one_token(model, against->value, "against");
  }
  AttributionReport report{.by = parse_name<AttributionBy>("by", by),
                           .tasks = {std::move(task)},
                           .study = {},
                           .tokenizer = *model.tokenizer()};
  {
    const Model::Use use(model);
    report.study = attribute_prompts(model.gpt(), report.tasks,
                                     {.by = report.by, .progress = check_signals_at});
  }
  nb::dict summary;
  summary["logit"] = report.study.logit.mean;
  summary["probability"] = report.study.prompts.front().probability;
  summary["caution"] = report.caution();
  return {attribution_arrays(report), std::move(summary), result_html(attribution_page(report, 0))};
}

Result lens(Model& model, const Inputs& text, const std::string& point, Index top_k,
            const std::optional<PathInput>& tuned) {
  const Tokenizer& tokenizer = *model.tokenizer();
  LensView view{.point = parse_name<Point>("point", point)};
  if (tuned) {
    view.tuned = std::make_shared<TunedLens>(load_tuned_lens(tuned->path));
  }
  LensTask task{.text = task_ids(model, text.value, "text", false), .view = view, .top_k = top_k};
  if (!model.gpt().config().causal) {
    task.mask = tokenizer.mask_token();
  }
  task.progress = check_signals_at;
  const auto [result, texts] = [&] {
    const Model::Use use(model);
    LensResult read = logit_lens(model.gpt(), task);
    PredictedTexts predicted = predicted_texts(read, task.text, model.gpt(), tokenizer);
    return std::pair(std::move(read), std::move(predicted));
  }();
  return {
      lens_arrays(result, tokenizer),
      {},
      result_html({.title = "Logit lens", .grids = lens_grids(result, texts, view, tokenizer)})};
}

Result circuit(Model& model, const nb::sequence& pairs, const nb::object& metric, Index edges,
               std::optional<double> faithfulness, Index steps, const std::string& ablation,
               Index random_sets, bool progress) {
  const auto mode = parse_name<CircuitAblation>("ablation", ablation);
  const std::vector<PatchingTask> tasks = patching_tasks(model, pairs, metric);
  const CircuitResult result = [&] {
    const Model::Use use(model);
    return find_circuit(model.gpt(), tasks,
                        {.steps = steps,
                         .edges = edges,
                         .faithfulness = faithfulness,
                         .ablation = mode,
                         .random_sets = random_sets,
                         .progress = progress_of("finding the circuit", progress)});
  }();
  nb::dict summary;
  summary["faithfulness"] = result.faithfulness;
  summary["kept"] = result.kept;
  if (result.random) {
    summary["random"] = result.random->mean;
    summary["random_low"] = result.random->low;
    summary["random_high"] = result.random->high;
  }
  summary["clean_difference"] = result.clean_difference;
  summary["corrupt_difference"] = result.corrupt_difference;
  summary["pairs_done"] = result.pairs_done;
  return {circuit_arrays(result), std::move(summary), result_html(circuit_page(result, ""))};
}

void add_effects(nb::class_<Model>& model) {
  model
      .def("ablate", &ablate, "data"_a, nb::kw_only(), "mode"_a = "zero", "heads"_a = nb::none(),
           "pairs"_a = 0, "documents"_a = "none", "batch_size"_a = 12, "metric"_a = "loss",
           "progress"_a = true,
           "Measures the loss without each head.\n\n"
           "Parameters\n----------\n"
           "data : a text, a list of texts, token ids, or paths of files.\n"
           "mode : \"zero\", \"mean\" or \"resample\", replacement for a head's output.\n"
           "heads : \"0.1,2.3\"; None: all.\n"
           "pairs : also ablate all pairs among this number of heads.\n"
           "metric : \"loss\", \"log_probability\" or \"probability\" of the tokens to predict, or "
           "\"kl\", the divergence from the whole model's prediction.\n"
           "documents : where files are split: \"none\", \"line\" or \"blank_line\".\n\n"
           "Returns\n-------\n"
           "rise, rise_low and rise_high [L, H]: nats a token with 95 % intervals.")
      .def("importance", &importance, "data"_a, nb::kw_only(), "documents"_a = "none",
           "batch_size"_a = 12, "progress"_a = true,
           "Ranks heads by the gradient of the loss: sensitivity and taylor [L, H], in nats a "
           "token.");
}

void add_readings(nb::class_<Model>& model) {
  model
      .def("attribute", &attribute, "text"_a, "target"_a, nb::kw_only(), "against"_a = nb::none(),
           "by"_a = "head", "position"_a = nb::none(),
           "Splits the logit of a token into contributions.\n\n"
           "Parameters\n----------\n"
           "target, against : texts or ids of one token; the logit of `against` is subtracted.\n"
           "by : \"layer\", \"head\", \"source\", \"neuron\" or \"stream\".\n"
           "position : position that predicts the token; None: the last one.\n\n"
           "Returns\n-------\n"
           "logit [N] of all parts, whose names are labels(\"part\"), and grids such as heads "
           "[L, H].")
      .def("lens", &lens, "text"_a, nb::kw_only(), "point"_a = "resid_post", "top_k"_a = 5,
           "tuned"_a = nb::none(),
           "Reads the next-token prediction after every layer (logit lens).\n\n"
           "Parameters\n----------\n"
           "point : \"resid_pre\", \"resid_mid\", \"resid_post\", \"attn_out\" or \"mlp_out\".\n"
           "tuned : folder or file of the package tuned-lens (params.pt or .safetensors), whose "
           "affine map of each layer translates the stream first; for resid_pre and resid_post.\n\n"
           "Returns\n-------\n"
           "probability, log_probability (nats), entropy (nats), kl and rank of the next token "
           "[R, T], top_ids and top_probabilities [R, T, k]; rows are labels(\"rows\").")
      .def(
          "circuit", &circuit, "pairs"_a, nb::kw_only(), "metric"_a = "logit_difference",
          "edges"_a = 0, "faithfulness"_a = nb::none(), "steps"_a = 5, "ablation"_a = "corrupt",
          "random_sets"_a = 0, "progress"_a = true,
          nb::sig(
              "def circuit(self, pairs: collections.abc.Sequence[tuple[headlight.types.ArrayLike, "
              "...]], *, metric: str | Metric | collections.abc.Callable[[headlight.types.Array], "
              "tuple[float, headlight.types.ArrayLike]] = 'logit_difference', "
              "edges: int = 0, faithfulness: float | None = None, steps: int = 5, ablation: str = "
              "'corrupt', random_sets: int = 0, progress: bool = True) -> Result"),
          "Finds the connections between heads and MLPs that a task uses.\n\n"
          "Parameters\n----------\n"
          "pairs : tuples (clean, corrupt, answer, wrong), as in patch().\n"
          "metric : as in patch(); a function must return (number, gradient [T, V]).\n"
          "edges : number of edges to keep; 0: enough for `faithfulness`.\n"
          "faithfulness : share of the difference to reach; None: 0.8.\n"
          "ablation : values of cut edges: \"corrupt\", of the pair's corrupt text; \"mean\", over "
          "all corrupt texts by position; or \"resample\", of the next pair's. The last two need "
          "texts of one length.\n"
          "random_sets : number of sets of as many random edges to measure for comparison: random, "
          "random_low and random_high (mean, least and largest faithfulness) in the summary.\n\n"
          "Returns\n-------\n"
          "score and kept [E] of the edges labels(\"from\") to labels(\"to\").");
}

}  // namespace

void add_analysis(nb::class_<Model>& model) {
  add_effects(model);
  add_readings(model);
}

}  // namespace headlight::python
