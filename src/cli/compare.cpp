#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "base/strings/display_text.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "headlight/runs/run_history.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/storage/file_writer.h"
#include "show/plot/chart.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kMostRuns = 26;  // each has a letter

constexpr const char* kCompareDetails =
    "Shows the settings that differ, the progress, losses, speed and time of each run, and one "
    "chart of the losses. Small letters (coloured dots on a terminal) are smoothed training "
    "losses. Capital letters are validation losses. The first losses are cut off if they are "
    "far above the rest.\n\n"
    "Unfinished runs are shown up to their last step. Steps repeated after a resume or a "
    "rollback count once.\n\n"
    "Losses are in nats per token, which depend on the tokenizer. Runs with different "
    "tokenizers are shown in bits per byte if all of them have that value. Training losses are "
    "converted with the bytes per token of the validation text.\n\n"
    "JSON keys: unit (nats_per_token or bits_per_byte, of the curves), x, same_tokenizer, "
    "same_validation, settings (for each differing setting, a list of values), "
    "runs[{directory, running, updates, max_updates, tokens, tokens_per_second, seconds, "
    "training_loss (last, smoothed), validation_loss (last), best_validation_loss, best_updates, "
    "best_bits_per_byte, skipped, rollbacks, training, validation (curves with x and loss, at "
    "most 1000 points)}]. Unknown values are null.";

Options compare_options() {
  Options options({.name = "compare",
                   .summary = "Compare runs: settings, losses, speed and a chart.",
                   .positional = "RUN [RUN ...]",
                   .details = kCompareDetails,
                   .examples = {"headlight compare runs/a runs/b",
                                "headlight compare runs/* --axis seconds --smooth 0.99",
                                "headlight compare runs/a runs/b --svg losses.svg",
                                "headlight compare runs/a runs/b --json"}});
  options.choice("axis", "x axis of the loss plot", kChoiceNames<HistoryAxis>, "updates")
      .value("smooth",
             "Smooth training losses: weight of the earlier losses in the average; 0: no smoothing",
             "0.95")
      .value("svg", "Also draw the result to this .svg file");
  options.paths({"svg"});
  return options;
}

struct ComparedRun {
  RunHistory history;
  std::string name;  // as the user gave it
  LossCurve training;
  LossCurve validation;
};

struct Comparison {
  std::vector<ComparedRun> runs;
  std::vector<SettingDifference> settings;
  Comparability comparability;
  CurveOptions curves;
  double y_high = std::numeric_limits<double>::infinity();  // upper end of the chart

  std::string unit() const { return curves.bits_per_byte ? "bits per byte" : "nats a token"; }
};

std::string letter_of(std::size_t run) { return std::string(1, static_cast<char>('a' + run)); }

// Returns the upper end of the loss axis: the highest loss after the first 5 % of the horizontal
// axis. Returns infinity, to cut off nothing, if earlier losses are not far above.
double top_of(const std::vector<ComparedRun>& runs) {
  constexpr double kFirstPart = 0.05;
  constexpr double kFar = 1.5;
  double end = 0;
  for (const ComparedRun& run : runs) {
    for (const LossCurve* curve : {&run.training, &run.validation}) {
      end = std::max(end, curve->empty() ? 0 : curve->x.back());
    }
  }
  double low = std::numeric_limits<double>::infinity();
  double later = -low;
  double highest = -low;
  for (const ComparedRun& run : runs) {
    for (const LossCurve* curve : {&run.training, &run.validation}) {
      for (std::size_t i = 0; i < curve->x.size(); ++i) {
        low = std::min(low, curve->loss[i]);
        highest = std::max(highest, curve->loss[i]);
        later = curve->x[i] >= kFirstPart * end ? std::max(later, curve->loss[i]) : later;
      }
    }
  }
  const bool cuts = later > low && highest - low > kFar * (later - low);
  return cuts ? later : std::numeric_limits<double>::infinity();
}

Comparison compare(const std::vector<std::string>& directories, const Options& options) {
  Comparison comparison;
  comparison.curves = {.axis = options.chosen<HistoryAxis>("axis"),
                       .smoothing = options.number("smooth")};
  comparison.curves.validate();
  std::vector<RunHistory> histories =
      transformed(directories, [](const std::string& run) { return read_run_history(run); });
  comparison.settings = differing_settings(histories);
  comparison.comparability = comparability(histories);
  comparison.curves.bits_per_byte =
      !comparison.comparability.same_tokenizer && comparison.comparability.bits_per_byte;
  for (std::size_t i = 0; i < histories.size(); ++i) {
    LossCurve training = training_curve(histories[i], comparison.curves);
    LossCurve validation = validation_curve(histories[i], comparison.curves);
    comparison.runs.push_back({std::move(histories[i]), display_label(directories[i]),
                               std::move(training), std::move(validation)});
  }
  comparison.y_high = top_of(comparison.runs);
  return comparison;
}

// Logs a warning for each reason why the runs are hard to compare.
void warn(const Comparison& comparison) {
  const Comparability& same = comparison.comparability;
  if (!same.same_tokenizer) {
    log_warning(comparison.curves.bits_per_byte
                    ? "the tokenizers differ, so losses per token cannot be compared: the chart "
                      "shows bits per byte"
                    : "the tokenizers differ and not every run has bits per byte: losses per token "
                      "cannot be compared");
  }
  if (!same.same_validation) {
    log_warning(
        "the runs are evaluated on different texts or parts of them: compare validation "
        "losses with care");
  }
  for (const ComparedRun& run : comparison.runs) {
    const RunHistory& history = run.history;
    if (history.settings.empty()) {
      log_warning(escaped(run.name) + ": no config.toml: its settings are unknown");
    }
    if (history.damaged_lines > 1) {
      log_warning(escaped(run.name) + ": metrics.jsonl: " +
                  counted(history.damaged_lines, "damaged line") + " left out");
    }
    if (run.training.empty() && run.validation.empty()) {
      const bool has_losses = !history.training.empty() || !history.validation.empty();
      log_warning(escaped(run.name) + ": metrics.jsonl " +
                  (has_losses
                       ? "records no number of " + std::string(name_of(comparison.curves.axis)) +
                             " with its losses; choose another --axis"
                       : "has no loss yet"));
    }
  }
}

std::string loss_or_dash(double value) {
  return std::isfinite(value) ? fixed_number(value, 4) : "-";
}

std::string count_or_dash(double value) {
  return std::isfinite(value) ? grouped(std::llround(value)) : "-";
}

std::string state_of(const RunHistory& run) {
  if (run.is_running) {
    return "running";
  }
  return run.max_updates() > 0 && run.updates < run.max_updates() ? "stopped" : "done";
}

// Last axis value that all curves reach. NaN: they do not overlap, or all end there.
double common_end(const Comparison& comparison) {
  double end = std::numeric_limits<double>::infinity();
  double begin = -end;
  double last = -end;
  for (const ComparedRun& run : comparison.runs) {
    if (run.training.empty()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    begin = std::max(begin, run.training.x.front());
    end = std::min(end, run.training.x.back());
    last = std::max(last, run.training.x.back());
  }
  return begin <= end && end < last ? end : std::numeric_limits<double>::quiet_NaN();
}

std::string axis_text(HistoryAxis axis, double value) {
  if (!std::isfinite(value)) {
    return "-";
  }
  return axis == HistoryAxis::seconds ? duration_text(value) : grouped(std::llround(value));
}

// Table with a row for each figure and a column for each run.
class Figures {
 public:
  explicit Figures(const std::vector<ComparedRun>& runs) : runs_(runs), table_(columns(runs)) {}

  template <class CellOf>
  void add(const std::string& title, const CellOf& cell_of) {
    add_cells(title, transformed(runs_, cell_of));
  }
  void add_cells(const std::string& title, std::vector<std::string> cells) {
    cells.insert(cells.begin(), title);
    table_.add(std::move(cells));
  }
  std::string text() const { return table_.text(); }

 private:
  static std::vector<Table::Column> columns(const std::vector<ComparedRun>& runs) {
    std::vector<Table::Column> columns{{"", true}};
    for (std::size_t run = 0; run < runs.size(); ++run) {
      columns.push_back({letter_of(run)});
    }
    return columns;
  }

  const std::vector<ComparedRun>& runs_;
  Table table_;
};

std::string figures_text(const Comparison& comparison) {
  Figures figures(comparison.runs);
  for (const SettingDifference& setting : comparison.settings) {
    figures.add_cells(setting.key, transformed(setting.values, [](const std::string& value) {
                        return value.empty() ? "-" : display_label(value);
                      }));
  }
  figures.add("", [](const ComparedRun&) { return std::string(); });
  figures.add("state", [](const ComparedRun& run) { return state_of(run.history); });
  figures.add("updates", [](const ComparedRun& run) {
    const Index most = run.history.max_updates();
    return grouped(run.history.updates) + (most > 0 ? " of " + grouped(most) : "");
  });
  figures.add("tokens", [](const ComparedRun& run) { return count_or_dash(run.history.tokens); });
  figures.add("tokens/s", [](const ComparedRun& run) {
    return count_or_dash(run.history.tokens_per_second());
  });
  figures.add("time",
              [](const ComparedRun& run) { return duration_text(run.history.elapsed_seconds); });
  const auto add_if_any = [&](const char* title, Index RunHistory::*count) {
    if (std::ranges::any_of(comparison.runs,
                            [&](const ComparedRun& run) { return run.history.*count > 0; })) {
      figures.add(title, [&](const ComparedRun& run) { return grouped(run.history.*count); });
    }
  };
  add_if_any("skipped steps", &RunHistory::skipped);
  add_if_any("rollbacks", &RunHistory::rollbacks);
  return figures.text();
}

std::string losses_text(const Comparison& comparison) {
  const auto last = [](const LossCurve& curve) {
    return curve.empty() ? std::string("-") : fixed_number(curve.loss.back(), 4);
  };
  const auto best = [](const ComparedRun& run, const auto& cell_of) {
    const HistoryPoint* point = run.history.best_validation();
    return point == nullptr ? std::string("-") : cell_of(*point);
  };
  const HistoryAxis axis = comparison.curves.axis;
  Figures figures(comparison.runs);
  figures.add("training, last", [&](const ComparedRun& run) { return last(run.training); });
  figures.add("validation, last", [&](const ComparedRun& run) { return last(run.validation); });
  figures.add("validation, best", [&](const ComparedRun& run) {
    return best(run, [&](const HistoryPoint& point) {
      return loss_or_dash(comparison.curves.bits_per_byte ? point.bits_per_byte : point.loss);
    });
  });
  figures.add("  at " + std::string(name_of(axis)), [&](const ComparedRun& run) {
    return best(run, [&](const HistoryPoint& point) { return axis_text(axis, point.on(axis)); });
  });
  if (!comparison.curves.bits_per_byte && comparison.comparability.bits_per_byte) {
    figures.add("  bits per byte", [](const ComparedRun& run) {
      return loss_or_dash(run.history.best_validation()->bits_per_byte);
    });
  }
  if (const double end = common_end(comparison); std::isfinite(end)) {
    figures.add("training, at " + axis_text(axis, end),
                [&](const ComparedRun& run) { return loss_or_dash(run.training.at(end)); });
  }
  return "loss (" + comparison.unit() + "; training smoothed)\n" + figures.text();
}

std::string chart_text(const Comparison& comparison) {
  const bool colours = has_colours(Stream::output);
  std::vector<ChartSeries> series;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const ComparedRun& run = comparison.runs[i];
    const char letter = letter_of(i)[0];
    const int colour = static_cast<int>(i);
    series.push_back({run.training.x, run.training.loss, letter, colour});
    series.push_back({run.validation.x, run.validation.loss, static_cast<char>(letter - 'a' + 'A'),
                      colour, true});
  }
  const HistoryAxis axis = comparison.curves.axis;
  constexpr int kMargin = 12;
  const int columns = columns_of(Stream::output);
  return series_chart(
      series, {.width = std::clamp(columns - kMargin, 20, 100),
               .colours = colours,
               .y_high = comparison.y_high,
               .x_label = std::string(axis == HistoryAxis::seconds ? "time" : name_of(axis)) +
                          (colours ? "; lines" : "; small letters") +
                          ": training, smoothed; capitals: validation",
               .x_text = [&](double value) { return axis_text(axis, value); }});
}

std::string names_text(const Comparison& comparison) {
  std::string text;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const std::string line = letter_of(i) + "  " + escaped(comparison.runs[i].name);
    text += has_colours(Stream::output) ? in_series_colour(line, static_cast<int>(i)) : line;
    text += "\n";
  }
  return text;
}

std::string svg_of(const Comparison& comparison) {
  LinePlot plot{.title = "Training (lines, smoothed) and validation (dots) losses",
                .x_label = std::string(name_of(comparison.curves.axis)),
                .y_label = comparison.unit(),
                .y_high = comparison.y_high};
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const ComparedRun& run = comparison.runs[i];
    const int colour = static_cast<int>(i);
    plot.series.push_back({.name = run.name,
                           .x = run.training.x,
                           .y = run.training.loss,
                           .thin = true,
                           .colour = colour});
    plot.series.push_back({.name = "",
                           .x = run.validation.x,
                           .y = run.validation.loss,
                           .points = true,
                           .colour = colour});
  }
  return line_plot_svg(plot);
}

Json count_json(double value) { return std::isfinite(value) ? Json(std::llround(value)) : Json(); }

Json curve_json(const LossCurve& curve) { return {{"x", curve.x}, {"loss", curve.loss}}; }

Json run_json(const ComparedRun& run) {
  const RunHistory& history = run.history;
  const HistoryPoint* best = history.best_validation();
  const auto last = [](const LossCurve& curve) {
    return curve.empty() ? Json() : Json(curve.loss.back());
  };
  return {{"directory", history.directory.string()},
          {"running", history.is_running},
          {"updates", history.updates},
          {"max_updates", history.max_updates() > 0 ? Json(history.max_updates()) : Json()},
          {"tokens", count_json(history.tokens)},
          {"tokens_per_second", history.tokens_per_second()},
          {"seconds", history.elapsed_seconds},
          {"training_loss", last(run.training)},
          {"validation_loss", last(run.validation)},
          {"best_validation_loss", best == nullptr ? Json() : Json(best->loss)},
          {"best_updates", best == nullptr ? Json() : count_json(best->updates)},
          {"best_bits_per_byte", best == nullptr ? Json() : Json(best->bits_per_byte)},
          {"skipped", history.skipped},
          {"rollbacks", history.rollbacks},
          {"training", curve_json(run.training)},
          {"validation", curve_json(run.validation)}};
}

Json json_of(const Comparison& comparison) {
  Json json{{"unit", comparison.curves.bits_per_byte ? "bits_per_byte" : "nats_per_token"},
            {"x", name_of(comparison.curves.axis)},
            {"same_tokenizer", comparison.comparability.same_tokenizer},
            {"same_validation", comparison.comparability.same_validation},
            {"settings", Json::object()}};
  for (const SettingDifference& setting : comparison.settings) {
    json["settings"][setting.key] = setting.values;
  }
  json["runs"] = transformed(comparison.runs, run_json);
  return json;
}

void compare_command(const Options& options) {
  const std::vector<std::string>& directories = options.positionals();
  require(!directories.empty() && directories.size() <= kMostRuns, "expected 1 to ", kMostRuns,
          " run directories, got ", directories.size(), " (see headlight compare --help)");
  const std::string svg = options.given("svg") ? output_file(options, "svg", ".svg") : "";
  const Comparison comparison = compare(directories, options);
  warn(comparison);
  const std::string chart = chart_text(comparison);
  if (!svg.empty()) {
    require(!chart.empty(), "--svg: no run has a loss to draw");
    write_file(svg, svg_of(comparison));
  }
  if (options.json()) {
    print_json(json_of(comparison));
  } else {
    std::cout << names_text(comparison) << "\n"
              << figures_text(comparison) << "\n"
              << losses_text(comparison) << "\n"
              << chart;
  }
}

}  // namespace

int run_compare(const Words& words) { return run(compare_options(), words, compare_command); }

}  // namespace headlight::cli
