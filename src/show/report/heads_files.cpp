#include "show/report/heads_files.h"

#include <cmath>
#include <limits>

#include "base/transformed.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/show/plot/matrix_plot.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "show/report/heads_columns.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

Json json_of(const ScoredHead& head, const std::vector<ScoreInfo>& list, Language language) {
  Json json = head_json(head.head);
  json["verdict"] = head.verdict.name;
  json["verdict_score"] = head.verdict.score;
  json["verdict_measure"] = head.verdict.measure;
  json["verdict_interval"] = {{"low", head.verdict.range.low}, {"high", head.verdict.range.high}};
  json["verdict_places"] = head.verdict.queries;
  json["settled"] = head.verdict.significant;
  json["sentence"] = head_sentence(head, language);
  Json intervals = Json::object();
  for (std::size_t index = 0; index < list.size(); ++index) {
    const ScoreValue& score = head.scores[index];
    const std::string& name = list[index].name;
    json[name] = score.measured() ? Json(score.value.mean) : Json(nullptr);
    if (score.has_interval) {
      intervals[name] = {{"low", score.value.low}, {"high", score.value.high}};
    }
  }
  const bool has_offsets = head.score("offset_share").measured();
  json["best_offset"] = has_offsets ? Json(head.best_offset) : Json();
  json["k_source"] = head.k_source ? Json(head_name(*head.k_source)) : Json(nullptr);
  json["intervals"] = std::move(intervals);
  return json;
}

// Returns {layer, entropy, mean_distance, confidence, sparsity} of each layer.
Json layers_json(const HeadScores& scores) {
  std::map<Index, Json> layers;
  for (const char* name : {"entropy", "mean_distance", "confidence", "sparsity"}) {
    for (const auto& [layer, mean] : layer_means(scores, name)) {
      layers[layer]["layer"] = layer;
      layers[layer][name] = mean;
    }
  }
  return transformed(layers, [](const auto& layer) { return layer.second; });
}

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

std::string csv_of(const HeadScores& scores) {
  const HeadColumns columns = head_columns(scores.list);
  std::string csv;
  for (const HeadColumn& column : columns) {
    csv += column.name + ",";
  }
  for (const ScoreInfo& info : scores.list) {
    csv += info.name + ".low," + info.name + ".high,";
  }
  csv.back() = '\n';
  for (const ScoredHead& head : scores.heads) {
    for (const HeadColumn& column : columns) {
      csv += column.is_text() ? column.text(head) : shortest_text(column.number(head));
      csv += ',';
    }
    for (const ScoreValue& score : head.scores) {
      csv += score.has_interval
                 ? Json(score.value.low).dump() + "," + Json(score.value.high).dump() + ","
                 : ",,";
    }
    csv.back() = '\n';
  }
  return csv;
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

NamedTensors arrays_of(const HeadsReport& report) {
  const HeadScores& scores = report.scores;
  const std::vector<HeadId> heads = transformed(scores.heads, &ScoredHead::head);
  std::vector<double> offsets;
  for (const ScoredHead& head : scores.heads) {
    offsets.insert(offsets.end(), head.offset_share.begin(), head.offset_share.end());
  }
  NamedTensors arrays{{"heads", heads_tensor(heads)}};
  for (const HeadColumn& column : head_columns(scores.list)) {
    if (!column.is_text()) {
      arrays.emplace_back(
          column.name, Tensor::from(transformed(scores.heads, column.number), {std::ssize(heads)}));
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
  if (report.distances) {
    arrays.emplace_back("js_distance",
                        square_tensor(report.distances->distance, report.distances->heads.size()));
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

std::map<Index, double> layer_means(const HeadScores& scores, std::string_view score) {
  std::map<Index, double> means;
  std::map<Index, double> counts;
  for (const ScoredHead& head : scores.heads) {
    means[head.head.layer] += head.score(score).value.mean;
    counts[head.head.layer] += 1;
  }
  for (auto& [layer, mean] : means) {
    mean /= counts[layer];
  }
  return means;
}

Json report_json(const HeadsReport& report, const std::vector<ScoredHead>& heads) {
  Json json{{"model_fingerprint", report.scores.model_fingerprint},
            {"sequences", report.scores.sequences},
            {"tokens", report.scores.tokens},
            {"random_tokens", report.random_tokens},
            {"caution", text_or_null(verdict_caution(heads, report.language))},
            {"heads", transformed(heads,
                                  [&](const ScoredHead& head) {
                                    return json_of(head, report.scores.list, report.language);
                                  })},
            {"layers", layers_json(report.scores)},
            {"even_weights", even_json(report.scores)},
            {"clusters", Json::array()}};
  if (report.distances) {
    json["clusters"] = transformed(report.distances->clusters,
                                   [](const HeadSet& cluster) { return head_names(cluster); });
    json["cluster_threshold"] = report.threshold;
    json["compared_queries"] = report.distances->queries;
  }
  return json;
}

std::vector<std::string> write_report(const HeadsReport& report,
                                      const std::filesystem::path& directory) {
  make_folder(directory);
  StagedFiles staged(directory);
  std::vector<std::string> paths;
  const auto write = [&](const std::string& name, const std::string& contents) {
    paths.push_back((directory / name).string());
    write_file(staged.path() / name, contents);
  };
  write("heads.json", report_json(report, report.scores.heads).dump(1) + "\n");
  write("heads.csv", csv_of(report.scores));
  paths.push_back((directory / "heads.npz").string());
  write_npz(staged.path() / "heads.npz", arrays_of(report));
  constexpr std::size_t kMostInFigure = 256;  // most heads; a figure has 256 x 256 cells
  if (report.distances && report.distances->heads.size() <= kMostInFigure) {
    write("redundancy.svg", square_svg("Jensen-Shannon distance between heads",
                                       report.distances->heads, report.distances->distance));
  }
  if (report.scores.weights && report.scores.weights->heads.size() <= kMostInFigure) {
    write("k_composition.svg", composition_svg(*report.scores.weights));
  }
  staged.commit();
  return paths;
}

}  // namespace headlight
