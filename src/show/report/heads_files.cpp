#include "show/report/heads_report.h"

#include <cmath>
#include <limits>

#include "base/strings/split.h"
#include "base/transformed.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/show/plot/matrix_plot.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

// Ends of the names of an interval's columns.
constexpr std::pair<const char*, double Interval::*> kEnds[] = {{".low", &Interval::low},
                                                                {".high", &Interval::high}};

// Returns the expected value of each score for a head with uniform attention, where it is known and
// the same for all heads: offset_share's depends on best_offset.
Json even_json(const HeadScores& scores) {
  Json json = Json::object();
  for (std::size_t index = 0; index < scores.list.size(); ++index) {
    const std::string& name = scores.list[index].name;
    const double even = scores.heads.front().scores[index].even;
    if (std::isfinite(even) && name != "offset_share") {
      json[name] = even;
    }
  }
  return json;
}

// Returns the shortest text that reads back as exactly `value`; "" for NaN.
std::string shortest_text(double value) {
  if (std::isnan(value)) {
    return "";
  }
  const bool whole = value == std::floor(value);
  return whole ? std::to_string(static_cast<Index>(value)) : Json(value).dump();
}

std::string csv_of(const HeadScores& scores, const ResultTable& table) {
  std::vector<std::string> lines(1 + scores.heads.size());
  const auto add = [&](const std::string& name, const auto& cell) {
    lines[0] += (lines[0].empty() ? "" : ",") + name;
    for (std::size_t row = 0; row < scores.heads.size(); ++row) {
      lines[row + 1] += (lines[row + 1].empty() ? "" : ",") + cell(row);
    }
  };
  for (const ResultColumn& column : table.columns) {
    if (column.has_use(ColumnUse::arrays)) {
      add(column.name, [&](std::size_t row) {
        return column.is_text() ? column.label(row) : shortest_text(column.number(row));
      });
    }
  }
  for (std::size_t index = 0; index < scores.list.size(); ++index) {
    for (const auto& [end, value] : kEnds) {
      add(scores.list[index].name + end, [&, value = value](std::size_t row) {
        const ScoreValue& score = scores.heads[row].scores[index];
        return score.has_interval ? Json(score.value.*value).dump() : std::string();
      });
    }
  }
  return joined(lines, "\n") + "\n";
}

Tensor heads_tensor(std::span<const HeadId> heads) {
  std::vector<std::int32_t> values;
  for (const HeadId& head : heads) {
    values.push_back(static_cast<std::int32_t>(head.layer));
    values.push_back(static_cast<std::int32_t>(head.head));
  }
  return Tensor::from(values, {static_cast<Index>(heads.size()), 2});
}

Tensor square_tensor(const std::vector<double>& values, std::size_t count) {
  const auto size = static_cast<Index>(count);
  return Tensor::from(values, {size, size});
}

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

NamedTensors arrays_of(const HeadsReport& report, const ResultTable& table) {
  const HeadScores& scores = report.scores;
  const std::vector<HeadId> heads = transformed(scores.heads, &ScoredHead::head);
  std::vector<double> offsets;
  for (const ScoredHead& head : scores.heads) {
    offsets.insert(offsets.end(), head.offset_share.begin(), head.offset_share.end());
  }
  NamedTensors arrays{{"heads", heads_tensor(heads)}};
  for (const ResultColumn& column : table.columns) {
    if (!column.is_text() && column.has_use(ColumnUse::arrays)) {
      std::vector<double> values;
      for (std::size_t row = 0; row < heads.size(); ++row) {
        values.push_back(column.number(row));
      }
      arrays.emplace_back(column.name, Tensor::from(values, {std::ssize(heads)}));
    }
  }
  for (std::size_t index = 0; index < scores.list.size(); ++index) {
    std::vector<double> intervals;
    for (const ScoredHead& head : scores.heads) {
      const ScoreValue& score = head.scores[index];
      intervals.push_back(score.measured() ? score.value.low : kNotMeasured);
      intervals.push_back(score.measured() ? score.value.high : kNotMeasured);
    }
    arrays.emplace_back(scores.list[index].name + ".interval",
                        Tensor::from(intervals, {std::ssize(heads), 2}));
  }
  if (scores.causal) {
    const Index width = std::ssize(offsets) / std::ssize(heads);
    arrays.emplace_back("offset_shares", Tensor::from(offsets, {std::ssize(heads), width}));
  }
  if (scores.distances) {
    arrays.emplace_back("js_distance",
                        square_tensor(scores.distances->distance, scores.distances->heads.size()));
  }
  if (scores.weights) {
    arrays.emplace_back("all_heads", heads_tensor(scores.weights->heads));
    arrays.emplace_back("k_composition_matrix",
                        square_tensor(scores.weights->k_composition, scores.weights->heads.size()));
  }
  return arrays;
}

std::string square_svg(const std::string& title, const HeadSet& heads, std::vector<double> values) {
  return matrix_plot_svg({.title = title,
                          .row_title = "head",
                          .column_title = "head",
                          .rows = head_names(heads),
                          .columns = head_names(heads),
                          .values = std::move(values),
                          .limit = 1});
}

// Returns a figure of the K-composition of each head (row) with each head of a later layer.
std::string composition_svg(const WeightScores& weights) {
  std::vector<double> values = weights.k_composition;
  const std::size_t count = weights.heads.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (weights.heads[i / count].layer >= weights.heads[i % count].layer) {
      values[i] = std::nan("");
    }
  }
  return square_svg("K-composition of a head (row) with a later one (column)", weights.heads,
                    values);
}

}  // namespace

Json report_json(const HeadsReport& report, const std::vector<ScoredHead>& heads) {
  const HeadScores& scores = report.scores;
  const ResultTable table = head_table(heads, scores.list, report.language);
  Json json{{"model_fingerprint", scores.model_fingerprint},
            {"sequences", scores.sequences},
            {"tokens", scores.tokens},
            {"random_tokens", report.random_tokens},
            {"caution", text_or_null(verdict_caution(heads, report.language))},
            {"heads", rows_of(table)},
            {"layers", rows_of(layer_table(scores, report.language))},
            {"even_weights", even_json(scores)},
            {"clusters", Json::array()}};
  if (scores.distances) {
    json["clusters"] = transformed(scores.distances->clusters,
                                   [](const HeadSet& cluster) { return head_names(cluster); });
    json["cluster_threshold"] = report.threshold;
    json["compared_queries"] = scores.distances->queries;
  }
  return json;
}

std::vector<std::string> write_report(const HeadsReport& report,
                                      const std::filesystem::path& directory) {
  const HeadScores& scores = report.scores;
  const ResultTable table = head_table(scores.heads, scores.list);
  make_folder(directory);
  StagedFiles staged(directory);
  std::vector<std::string> paths;
  const auto write = [&](const std::string& name, const std::string& contents) {
    paths.push_back((directory / name).string());
    write_file(staged.path() / name, contents);
  };
  write("heads.json", report_json(report, scores.heads).dump(1) + "\n");
  write("heads.csv", csv_of(scores, table));
  paths.push_back((directory / "heads.npz").string());
  write_npz(staged.path() / "heads.npz", arrays_of(report, table));
  constexpr std::size_t kMostInFigure = 256;  // most heads; a figure has 256 x 256 cells
  if (scores.distances && scores.distances->heads.size() <= kMostInFigure) {
    write("redundancy.svg", square_svg("Jensen-Shannon distance between heads",
                                       scores.distances->heads, scores.distances->distance));
  }
  if (scores.weights && scores.weights->heads.size() <= kMostInFigure) {
    write("k_composition.svg", composition_svg(*scores.weights));
  }
  staged.commit();
  return paths;
}

}  // namespace headlight
