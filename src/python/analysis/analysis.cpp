#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/datasets/text_dataset.h"
#include "python/analysis/result.h"
#include "python/analysis/text_data.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/progress.h"
#include "show/report/effect_grids.h"

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

void add_effects(nb::class_<Model>& model) {
  model.def(
      "ablate", &ablate, "data"_a, nb::kw_only(), "mode"_a = "zero", "heads"_a = nb::none(),
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
      "rise, rise_low and rise_high [L, H]: nats a token with 95 % intervals.");
}

}  // namespace

void add_analysis(nb::class_<Model>& model) { add_effects(model); }

}  // namespace headlight::python
