#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "headlight/interpret/scores/head_scores.h"
#include "python/analysis/text_data.h"
#include "python/bindings.h"
#include "python/progress.h"
#include "show/report/heads_report.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Returns sequences as `headlight heads` reads them; without data, repeated random tokens.
std::vector<std::vector<std::int32_t>> scored_sequences(const Model& model,
                                                        const std::optional<TextData>& input,
                                                        const std::string& documents,
                                                        const RepeatOptions& repeats) {
  return input ? read_windows(model, *input, documents)
               : repeated_sequences(repeats, model.gpt().config());
}

// Returns a HeadTable with a row for each head.
nb::object scores_array(const HeadScores& scores) {
  ResultTable table = head_table(scores.heads, scores.list);
  std::erase_if(table.columns,
                [](const ResultColumn& column) { return !column.has_use(ColumnUse::arrays); });
  nb::list fields;
  for (const ResultColumn& column : table.columns) {
    fields.append(nb::make_tuple(column.name, column.is_text()    ? "U32"
                                              : column.is_whole() ? "i4"
                                                                  : "f8"));
  }
  nb::list rows;
  for (std::size_t row = 0; row < row_count(table); ++row) {
    nb::list cells;
    for (const ResultColumn& column : table.columns) {
      cells.append(column.is_text() ? nb::cast(column.label(row)) : nb::cast(column.number(row)));
    }
    rows.append(nb::tuple(cells));
  }
  const nb::object array = nb::module_::import_("numpy").attr("array")(rows, "dtype"_a = fields);
  return array.attr("view")(nb::module_::import_("headlight.head_table").attr("HeadTable"));
}

nb::object head_scores(Model& model, const std::optional<TextData>& data,
                       const std::string& documents, const std::optional<std::string>& heads,
                       Index repeats, Index batch_size, bool exclude_first_token, bool progress) {
  HeadScoreOptions options{.batch_size = batch_size,
                           .repeats = repeats_of_text(*model.tokenizer(), model.gpt().vocab_size()),
                           .tokenizer = model.tokenizer().get(),
                           .exclude_first_token = exclude_first_token};
  options.progress = progress_of("scoring heads", progress);
  options.heads = heads ? HeadSet::parse(*heads) : HeadSet{};
  options.repeats.sequences = repeats;
  const auto sequences = scored_sequences(model, data, documents, options.repeats);
  const HeadScores scores = [&] {
    const Model::Use use(model);
    options.known_weights = &model.kept().weight_scores;
    return score_heads(model.gpt(), sequences, options);
  }();
  return scores_array(scores);
}

}  // namespace

void add_heads(nb::class_<Model>& model) {
  model.def("head_scores", &head_scores, "data"_a = nb::none(), nb::kw_only(),
            "documents"_a = "none", "heads"_a = nb::none(), "repeats"_a = 16, "batch_size"_a = 12,
            "exclude_first_token"_a = false, "progress"_a = true,
            nb::sig("def head_scores(self, data: headlight.types.ArrayLike | os.PathLike[str] | "
                    "collections.abc.Sequence[os.PathLike[str]] | None = None, *, documents: str = "
                    "'none', heads: str | None = None, repeats: int = 16, batch_size: int = 12, "
                    "exclude_first_token: bool = False, progress: bool = True) -> "
                    "headlight.head_table.HeadTable"),
            "Scores and classifies every head.\n\n"
            "Parameters\n----------\n"
            "data : a text, a list of texts, token ids, or paths of files; None: repeated random "
            "tokens.\n"
            "documents : where files are split: \"none\", \"line\" or \"blank_line\".\n"
            "heads : \"0.1,2.3\"; None: all.\n"
            "repeats : number of sequences of repeated random tokens.\n"
            "exclude_first_token : leave out the first token's query and weights, and divide the "
            "other weights of each query by their sum; first_token is NaN then.\n\n"
            "Returns\n-------\n"
            "A structured array [heads] with the fields head, layer, verdict and all scores; NaN: "
            "not measured. A notebook shows it as a table; frame() is a pandas.DataFrame.");
}

}  // namespace headlight::python
