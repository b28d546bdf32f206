#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/heads/circuit/circuit.h"
#include "headlight/heads/effects/lens.h"
#include "headlight/io/text_dataset.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/result.h"
#include "python/text_data.h"
#include "views/report/attribution_report.h"
#include "views/report/circuit_report.h"
#include "views/report/effect_grids.h"
#include "views/report/lens_report.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

HeadSet heads_argument(const std::optional<std::string>& heads) {
  return heads ? HeadSet::parse(*heads) : HeadSet{};
}

Result ablate(Model& model, const TextData& input, const std::string& mode,
              const std::optional<std::string>& heads, Index pairs, const std::string& documents,
              Index batch_size) {
  const TokenDataset data = read_data(model, input, documents);
  AblationOptions options{.mode = parse_name<AblationMode>("mode", mode),
                          .heads = heads_argument(heads),
                          .pair_heads = pairs,
                          .batch_size = batch_size};
  if (!model.gpt().config().causal) {
    options.masking = masking_of(*model.tokenizer());
  }
  const AblationResult result = [&] {
    const Model::Use use(model);
    return ablate_heads(model.gpt(), data, options);
  }();
  nb::dict summary;
  summary["loss"] = result.loss.mean;
  summary["sequences"] = result.sequences;
  summary["tokens"] = result.tokens;
  return result_of({.title = "Loss without each head", .grids = ablation_grids(result)},
                   std::move(summary));
}

Result importance(Model& model, const TextData& input, const std::string& documents,
                  Index batch_size) {
  const TokenDataset data = read_data(model, input, documents);
  const ImportanceResult result = [&] {
    const Model::Use use(model);
    return head_importance(model.gpt(), data, {.batch_size = batch_size});
  }();
  nb::dict summary;
  summary["loss"] = result.loss;
  summary["sequences"] = result.sequences;
  summary["tokens"] = result.tokens;
  return result_of(
      {.title = "Importance of each head for the loss", .grids = importance_grids(result, {})},
      std::move(summary));
}

// Returns the ids of one text of a task; an answer is a continuation, without prompt tokens.
std::vector<std::int32_t> task_ids(const Model& model, nb::handle value, const char* about,
                                   bool is_answer) {
  if (is_answer && nb::isinstance<nb::str>(value)) {
    return model.tokenizer()->encode(read_texts(value, about).front());
  }
  InputSequences inputs = read_inputs({nb::borrow(value)}, *model.tokenizer(), about);
  require_value(inputs.is_one, about, "expected one text, got several");
  return std::move(inputs.ids.front());
}

std::int32_t one_token(const Model& model, nb::handle value, const char* about) {
  const std::vector<std::int32_t> ids =
      PyIndex_Check(value.ptr()) != 0
          ? std::vector{read_value<std::int32_t>(value, about, "a token id")}
          : task_ids(model, value, about, true);
  require_value(ids.size() == 1, about, "expected one token, got ", ids.size());
  return ids.front();
}

PatchingTask patching_task(const Model& model, nb::handle clean, nb::handle corrupt,
                           nb::handle answer, nb::handle wrong) {
  return {.clean = task_ids(model, clean, "clean", false),
          .corrupt = task_ids(model, corrupt, "corrupt", false),
          .answer = task_ids(model, answer, "answer", true),
          .wrong = task_ids(model, wrong, "wrong", true)};
}

Result patch(Model& model, const Inputs& clean, const Inputs& corrupt, const Inputs& answer,
             const Inputs& wrong) {
  const PatchingTask task =
      patching_task(model, clean.value, corrupt.value, answer.value, wrong.value);
  const PatchingResult result = [&] {
    const Model::Use use(model);
    return patch_heads(model.gpt(), task);
  }();
  nb::dict summary;
  summary["clean_difference"] = result.clean_difference;
  summary["corrupt_difference"] = result.corrupt_difference;
  summary["clear"] = result.strength() == TaskStrength::clear;
  return result_of({.title = "Effect of patching heads", .grids = patching_grids(result)},
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

Result lens(Model& model, const Inputs& text, const std::string& point, Index top_k) {
  const Tokenizer& tokenizer = *model.tokenizer();
  const LensView view{.point = parse_name<Point>("point", point)};
  LensTask task{.text = task_ids(model, text.value, "text", false), .view = view, .top_k = top_k};
  if (!model.gpt().config().causal) {
    task.mask = tokenizer.mask_token();
  }
  task.progress = check_signals_at;
  const LensResult result = [&] {
    const Model::Use use(model);
    return logit_lens(model.gpt(), task);
  }();
  return {lens_arrays(result, tokenizer),
          {},
          result_html({.title = "Logit lens", .grids = lens_grids(result, view, tokenizer)})};
}

Result circuit(Model& model, const nb::list& pairs, Index edges, double faithfulness, Index steps) {
  require_value(faithfulness > 0 && faithfulness <= 1, "faithfulness",
                "expected a number above 0 to 1, got ", faithfulness);
  require_value(steps >= 1 && edges >= 0, steps < 1 ? "steps" : "edges", "expected a number from ",
                steps < 1 ? 1 : 0);
  std::vector<PatchingTask> tasks;
  for (const nb::handle pair : pairs) {
    require_value(nb::isinstance<nb::tuple>(pair) && nb::len(pair) == 4, "pairs",
                  "expected tuples (clean, corrupt, answer, wrong)");
    tasks.push_back(patching_task(model, pair[0], pair[1], pair[2], pair[3]));
  }
  const CircuitResult result = [&] {
    const Model::Use use(model);
    return find_circuit(model.gpt(), tasks,
                        {.steps = steps,
                         .edges = edges,
                         .faithfulness = faithfulness,
                         .progress = check_signals_at});
  }();
  nb::dict summary;
  summary["faithfulness"] = result.faithfulness;
  summary["kept"] = result.kept;
  summary["clean_difference"] = result.clean_difference;
  summary["corrupt_difference"] = result.corrupt_difference;
  summary["pairs_done"] = result.pairs_done;
  return {circuit_arrays(result), std::move(summary), result_html(circuit_page(result, ""))};
}

void add_effects(nb::class_<Model>& model) {
  model
      .def("ablate", &ablate, "data"_a, nb::kw_only(), "mode"_a = "zero", "heads"_a = nb::none(),
           "pairs"_a = 0, "documents"_a = "none", "batch_size"_a = 12,
           "Measures the loss without each head.\n\n"
           "Parameters\n----------\n"
           "data : a text, a list of texts, token ids, or paths of files.\n"
           "mode : \"zero\", \"mean\" or \"resample\", replacement for a head's output.\n"
           "heads : \"0.1,2.3\"; None: all.\n"
           "pairs : also ablate all pairs among this number of heads.\n"
           "documents : where files are split: \"none\", \"line\" or \"blank_line\".\n\n"
           "Returns\n-------\n"
           "rise, rise_low and rise_high [L, H]: nats a token with 95 % intervals.")
      .def("importance", &importance, "data"_a, nb::kw_only(), "documents"_a = "none",
           "batch_size"_a = 12,
           "Ranks heads by the gradient of the loss: sensitivity and taylor [L, H], in nats a "
           "token.")
      .def("patch", &patch, "clean"_a, "corrupt"_a, "answer"_a, "wrong"_a,
           "Finds the heads that carry the difference between two texts of one length.\n\n"
           "Parameters\n----------\n"
           "answer, wrong : continuations of the clean and of the corrupt text.\n\n"
           "Returns\n-------\n"
           "recovered [L, H], 0 as the corrupt text and 1 as the clean one, and difference "
           "[L, H] in nats.");
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
           "Reads the next-token prediction after every layer (logit lens).\n\n"
           "Returns\n-------\n"
           "probability, log_probability (nats), entropy (nats), kl and rank of the next token "
           "[R, T], top_ids and top_probabilities [R, T, k]; rows are labels(\"rows\").")
      .def("circuit", &circuit, "pairs"_a, nb::kw_only(), "edges"_a = 0, "faithfulness"_a = 0.8,
           "steps"_a = 5,
           nb::sig("def circuit(self, pairs: list[tuple[headlight.types.ArrayLike, "
                   "headlight.types.ArrayLike, headlight.types.ArrayLike, "
                   "headlight.types.ArrayLike]], *, "
                   "edges: int = 0, faithfulness: float = 0.8, steps: int = 5) -> Result"),
           "Finds the connections between heads and MLPs that a task uses.\n\n"
           "Parameters\n----------\n"
           "pairs : tuples (clean, corrupt, answer, wrong), as in patch().\n"
           "edges : number of edges to keep; 0: enough for `faithfulness`.\n\n"
           "Returns\n-------\n"
           "score and kept [E] of the edges labels(\"from\") to labels(\"to\").");
}

}  // namespace

void add_analysis(nb::class_<Model>& model) {
  add_effects(model);
  add_readings(model);
}

}  // namespace headlight::python
