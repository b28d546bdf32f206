#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/strings/lower_case.h"
#include "base/strings/printable.h"
#include "base/transformed.h"
#include "headlight/interpret/record_attention.h"
#include "headlight/runs/run_history.h"
#include "headlight/show/attention/attention_html.h"
#include "headlight/show/attention/attention_svg.h"
#include "headlight/show/model/model_diagram.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/storage/file_writer.h"
#include "python/analysis/figure.h"
#include "python/analysis/text_data.h"
#include "python/autograd/operand.h"
#include "python/bindings.h"
#include "python/model/cell_tuples.h"
#include "python/model/model.h"
#include "python/training/run.h"
#include "show/plot/svg.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Appearance of a figure of attention.
struct MapStyle {
  std::string title;
  bool differences = false;
  std::string language;
  std::optional<std::vector<CellTuple>> cells;  // of the tokens; none: one for each
};

LayerAttention layer_attention(const Operand& weights, Index layer,
                               const std::optional<std::vector<Index>>& heads) {
  const Tensor maps = convert(weights.tensor(), DType::float32);
  require_value(maps.rank() == 3, "weights", "expected shape [H, T, T], got ", maps.shape());
  LayerAttention attention{.layer = layer, .heads = {}, .weights = maps};
  for (Index head = 0; head < maps.size(0); ++head) {
    attention.heads.push_back(head);
  }
  if (heads) {
    attention.heads = *heads;
  }
  return attention;
}

Figure attention_figure(const Operand& weights, const std::vector<std::string>& tokens, Index layer,
                        const std::optional<std::vector<Index>>& heads, const MapStyle& style) {
  LayerAttention attention = layer_attention(weights, layer, heads);
  AttentionMaps maps{.title = style.title, .tokens = tokens, .layers = {}};
  if (style.cells && style.cells->size() < tokens.size()) {
    const std::vector<TokenCell> cells = cells_of_tuples(*style.cells, std::ssize(tokens));
    attention.weights = merged_weights(attention.weights, cells);
    maps.tokens = transformed(cells, &TokenCell::label);
    maps.unit = TextUnit::character;
  }
  maps.layers = {attention};
  return {attention_svg(maps, attention,
                        {.language = parse_name<Language>("lang", style.language),
                         .differences = style.differences})};
}

Figure value_weighted_figure(Model& model, const Inputs& text, Index layer,
                             const std::optional<Index>& head) {
  RecordAttentionOptions options{.value_weighted = true};
  options.heads =
      head ? HeadSet{{layer, *head}} : HeadSet::of_layers(model.gpt().heads(), {layer}, {});
  const std::vector<std::vector<std::int32_t>> ids{read_one(text, *model.tokenizer(), "text")};
  const Model::Use use(model);
  const AttentionMaps maps = record_attention_of_ids(model.gpt(), *model.tokenizer(), ids, options)
                                 .whole_maps(0, *model.tokenizer(), "Value-weighted");
  return {attention_svg(maps, maps.layers.front())};
}

Figure model_view(Model& model, const TextData& texts, const std::string& view, bool value_weighted,
                  const std::string& language) {
  const std::vector<std::string> documents = read_texts(texts.value, "texts");
  AttentionPageOptions options{.view = parse_name<AttentionView>("view", view)};
  options.style.language = parse_name<Language>("lang", language);
  const Model::Use use(model);
  const RecordedAttention recorded = record_attention_batch(
      model.gpt(), *model.tokenizer(), documents,
      {.vectors = options.view == AttentionView::neuron, .value_weighted = value_weighted});
  std::vector<AttentionMaps> maps;
  for (Index i = 0; i < std::ssize(recorded.documents); ++i) {
    maps.push_back(recorded.whole_maps(i, *model.tokenizer(),
                                       model.name() + (value_weighted ? " · value-weighted" : "")));
  }
  return {attention_html(maps, options), true};
}

Figure model_figure(const Model& model, const std::string& language) {
  return {model_diagram_svg(
      model.gpt().config(),
      {.title = model.name(), .language = parse_name<Language>("lang", language)})};
}

// Throws Error for a name whose ending belongs to another format.
void save(const Figure& figure, const PathInput& path) {
  const std::string ending = lower_case(path.path.extension().string());
  const std::string_view own = figure.is_page ? ".html" : ".svg";
  require_value(ending.empty() || ending == own || (ending == ".htm" && figure.is_page), "path",
                "this figure is ", figure.is_page ? "an HTML page" : "SVG",
                ": expected a name that ends in ", own, ", got ", in_quotes(path.path.string()));
  write_file(path.path, figure.source);
}

}  // namespace

Figure loss_figure(const std::vector<TrainedRun>& runs) {
  LinePlot plot{.title = "Loss", .x_label = "step", .y_label = "nats a token"};
  int colour = 0;
  for (const TrainedRun& run : runs) {
    const RunHistory history = read_run_history(run.path);
    const std::string name = runs.size() > 1 ? run.path.filename().string() + ", " : "";
    const LossCurve training = training_curve(history);
    const LossCurve validation = validation_curve(history);
    plot.series.push_back({.name = name + "training",
                           .x = training.x,
                           .y = training.loss,
                           .thin = true,
                           .colour = colour});
    if (!validation.empty()) {
      plot.series.push_back({.name = name + "validation",
                             .x = validation.x,
                             .y = validation.loss,
                             .points = true,
                             .colour = runs.size() > 1 ? colour : colour + 1});
    }
    ++colour;
  }
  return {line_plot_svg(plot)};
}

std::string notebook_html(const std::string& page, int height) {
  return concat_text("<iframe srcdoc=\"", escape_markup(page),
                     "\" style=\"width: 100%; height: ", height, "px; border: 0\"></iframe>");
}

void add_plot(nb::module_& module, nb::class_<Model>& model) {
  nb::module_ plot = module.def_submodule("plot", "Figures.");
  nb::class_<Figure>(plot, "Figure", "An SVG figure or an HTML page; a notebook shows it.")
      .def_ro("source", &Figure::source, "SVG or HTML, which refers to no other file.")
      .def("save", &save, "path"_a, "Writes the figure to a file.")
      .def("_repr_html_",
           [](const Figure& figure) {
             return figure.is_page ? notebook_html(figure.source, figure.height)
                                   : "<div style=\"overflow-x: auto\">" + figure.source + "</div>";
           })
      .def("__repr__", [](const Figure& figure) {
        return concat_text("<headlight.Figure: ", figure.source.size(), " bytes of ",
                           figure.is_page ? "HTML>" : "SVG>");
      });
  plot.def(
      "attention_maps",
      [](const Operand& weights, const std::vector<std::string>& tokens, Index layer,
         const std::optional<std::vector<Index>>& heads, const std::string& title, bool differences,
         const std::string& lang, const std::optional<std::vector<CellTuple>>& cells) {
        return attention_figure(weights, tokens, layer, heads, {title, differences, lang, cells});
      },
      "weights"_a, "tokens"_a, nb::kw_only(), "layer"_a = 0, "heads"_a = nb::none(), "title"_a = "",
      "differences"_a = false, "lang"_a = "en", "cells"_a = nb::none(),
      "Draws attention weights [H, T, T], with the labels of T tokens.\n\n"
      "Parameters\n----------\n"
      "differences : the weights are differences, -1 to 1: blue above 0, orange below.\n"
      "lang : \"en\" or \"ko\".\n"
      "cells : characters of several tokens to draw as one: (first token, one past the last, "
      "label) of all tokens, such as ActivationCache.cells. Weights are the mean over the queries "
      "of the sum over the keys.");
  plot.def(
      "value_weighted", &value_weighted_figure, "model"_a, "text"_a, "layer"_a,
      "head"_a = nb::none(),
      "Draws attention weights times the norm of the vector that each carries, v W_O, over the "
      "head's largest norm (Kobayashi et al., 2020).");
  plot.def(
      "loss", [](const TrainedRun& run) { return loss_figure({run}); }, "run"_a,
      "Draws training and validation loss of a run against the steps.");
  plot.def("loss", &loss_figure, "runs"_a, "Draws the losses of several runs.");
  plot.def("model_view", &model_view, "model"_a, "texts"_a, nb::kw_only(), "view"_a = "model",
           "value_weighted"_a = false, "lang"_a = "en",
           "Returns an interactive page of all heads.\n\n"
           "Parameters\n----------\n"
           "texts : a text or a list of texts.\n"
           "view : \"model\", \"head\", \"neuron\" or \"grid\".\n"
           "value_weighted : as value_weighted() draws.\n"
           "lang : \"en\" or \"ko\".");
  plot.def("model", &model_figure, "model"_a, nb::kw_only(), "lang"_a = "en",
           "Draws the architecture.");
  add_charts(plot);
  model.def("_repr_html_", [](const Model& self) { return model_figure(self, "en").source; });
}

}  // namespace headlight::python
