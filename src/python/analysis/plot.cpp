#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "headlight/files/file_writer.h"
#include "headlight/heads/record_attention.h"
#include "headlight/runs/run_history.h"
#include "headlight/views/attention/attention_html.h"
#include "headlight/views/attention/attention_svg.h"
#include "headlight/views/model/model_diagram.h"
#include "headlight/views/plot/line_plot.h"
#include "headlight/views/plot/matrix_plot.h"
#include "python/analysis/figure.h"
#include "python/analysis/text_data.h"
#include "python/autograd/operand.h"
#include "python/bindings.h"
#include "python/model/model.h"
#include "python/training/run.h"
#include "views/plot/svg.h"
#include "views/result/result.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

Figure attention_figure(const Operand& weights, const std::vector<std::string>& tokens, Index layer,
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
  return {attention_svg({.title = "", .tokens = tokens, .layers = {attention}}, attention)};
}

Figure matrix_figure(const Operand& values, const std::string& title, const std::string& rows,
                     const std::string& columns) {
  const Tensor matrix = values.tensor();
  require_value(matrix.rank() == 2, "values", "expected shape [L, H], got ", matrix.shape());
  return {matrix_plot_svg({.title = title,
                           .row_title = rows,
                           .column_title = columns,
                           .rows = numbers_to(matrix.size(0)),
                           .columns = numbers_to(matrix.size(1)),
                           .values = matrix.to_vector()})};
}

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

Figure model_view(Model& model, const TextData& texts, const std::string& view) {
  const std::vector<std::string> documents = read_texts(texts.value, "texts");
  const AttentionPageOptions options{.view = parse_name<AttentionView>("view", view)};
  const Model::Use use(model);
  const RecordedAttention recorded =
      record_attention_batch(model.gpt(), *model.tokenizer(), documents,
                             {.vectors = options.view == AttentionView::neuron});
  std::vector<AttentionMaps> maps;
  for (Index i = 0; i < std::ssize(recorded.documents); ++i) {
    maps.push_back(recorded.maps(i, model.name()));
  }
  return {attention_html(maps, options), true};
}

Figure model_figure(const Model& model) {
  return {model_diagram_svg(model.gpt().config(), {.title = model.name()})};
}

void save(const Figure& figure, const PathInput& path) { write_file(path.path, figure.source); }

}  // namespace

std::string notebook_html(const std::string& page) {
  return "<iframe srcdoc=\"" + escape_markup(page) +
         "\" style=\"width: 100%; height: 640px; border: 0\"></iframe>";
}

void add_plot(nb::module_& module, nb::class_<Model>& model) {
  nb::module_ plot = module.def_submodule("plot", "Figures.");
  nb::class_<Figure>(plot, "Figure", "An SVG figure or an HTML page; a notebook shows it.")
      .def_ro("source", &Figure::source, "SVG or HTML, which refers to no other file.")
      .def("save", &save, "path"_a, "Writes the figure to a file.")
      .def("_repr_html_",
           [](const Figure& figure) {
             return figure.is_page ? notebook_html(figure.source)
                                   : "<div style=\"overflow-x: auto\">" + figure.source + "</div>";
           })
      .def("__repr__", [](const Figure& figure) {
        return concat_text("<headlight.Figure: ", figure.source.size(), " bytes of ",
                           figure.is_page ? "HTML>" : "SVG>");
      });
  plot.def("attention_maps", &attention_figure, "weights"_a, "tokens"_a, nb::kw_only(),
           "layer"_a = 0, "heads"_a = nb::none(),
           "Draws attention weights [H, T, T], whose rows sum to 1, with the labels of T tokens.");
  plot.def("heads", &matrix_figure, "values"_a, "title"_a = "", nb::kw_only(), "rows"_a = "layer",
           "columns"_a = "head",
           "Draws one value of each head, [L, H]: blue above 0, orange below.");
  plot.def(
      "loss", [](const TrainedRun& run) { return loss_figure({run}); }, "run"_a,
      "Draws training and validation loss of a run against the steps.");
  plot.def("loss", &loss_figure, "runs"_a, "Draws the losses of several runs.");
  plot.def("model_view", &model_view, "model"_a, "texts"_a, nb::kw_only(), "view"_a = "model",
           "Returns an interactive page of all heads.\n\n"
           "Parameters\n----------\n"
           "texts : a text or a list of texts.\n"
           "view : \"model\", \"head\", \"neuron\" or \"grid\".");
  plot.def("model", &model_figure, "model"_a, "Draws the architecture.");
  model.def("_repr_html_", [](const Model& self) { return model_figure(self).source; });
}

}  // namespace headlight::python
