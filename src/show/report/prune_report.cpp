#include "show/report/prune_report.h"

#include <iostream>

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "headlight/interpret/head_set.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/storage/atomic_directory.h"
#include "headlight/storage/file_writer.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight {
namespace {

std::string curve_csv(const std::vector<PrunePoint>& points) {
  std::string csv = "kept,loss,removed\n";
  for (const PrunePoint& point : points) {
    csv += std::to_string(point.kept) + "," + fixed_number(point.loss, 9) + "," +
           (point.removed ? head_name(*point.removed) : "") + "\n";
  }
  return csv;
}

std::string curve_svg(const std::vector<PrunePoint>& points) {
  PlotSeries series;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    series.x.push_back(static_cast<double>(point->kept));
    series.y.push_back(point->loss);
  }
  return line_plot_svg({.title = "Loss by number of remaining heads",
                        .x_label = "heads",
                        .y_label = "loss (nats a token)",
                        .series = {series},
                        .points = points.size() <= 64});
}

}  // namespace

Json prune_json(const PruneOutcome& outcome, const LoadedModel& loaded) {
  const HeadSet kept_heads = HeadSet::all(outcome.model->heads());
  const auto point_json = [](const PrunePoint& point) -> Json {
    return {{"kept", point.kept},
            {"loss", point.loss},
            {"removed", point.removed ? Json(head_name(*point.removed)) : Json()}};
  };
  Json json{{"heads", head_names(outcome.plan.heads)},
            {"kept", kept_heads.size()},
            {"kept_heads", head_names(kept_heads)},
            {"parameters", outcome.model->parameter_count()},
            {"parameters_before", loaded.model->parameter_count()},
            {"curve", transformed(outcome.plan.points, point_json)}};
  json.update(outcome.losses);
  return json;
}

void write_pruned(const std::string& out, const PruneOutcome& outcome, const LoadedModel& loaded,
                  const Json& json) {
  AtomicDirectory directory(out);
  write_model_files(directory.path(), *outcome.model, *loaded.tokenizer);
  write_file(directory.path() / "pruning.json", json.dump(1) + "\n");
  if (!outcome.plan.points.empty()) {
    write_file(directory.path() / "curve.csv", curve_csv(outcome.plan.points));
    write_file(directory.path() / "curve.svg", curve_svg(outcome.plan.points));
  }
  directory.commit();
}

void print_pruning(const Json& json, const std::vector<PrunePoint>& points,
                   const std::string& out) {
  if (!points.empty()) {
    Table table({{"removed", true}, {"heads"}, {"loss"}});
    for (const PrunePoint& point : points) {
      const bool back = point.removed && point.kept < json["kept"].integer();
      table.add({point.removed ? head_name(*point.removed) + (back ? " (put back)" : "") : "",
                 std::to_string(point.kept), fixed_number(point.loss, 4)});
    }
    std::cout << table.text() << "\n";
  }
  std::cout << "removed " << counted(std::ssize(json["heads"]), "head") << ", kept "
            << json["kept"].dump() << "; " << json["parameters"].dump() << " parameters instead of "
            << json["parameters_before"].dump() << "\n";
  for (const char* name : {"loss_before", "loss_after", "loss_finetuned"}) {
    if (!json[name].is_null()) {
      std::cout << name << " " << fixed_number(json[name].number(), 4) << "\n";
    }
  }
  std::cout << "wrote " << escaped(out) << "\n";
}

}  // namespace headlight
