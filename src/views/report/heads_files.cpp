#include "views/report/heads_files.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/json.h"
#include "headlight/files/file_writer.h"
#include "headlight/io/npz.h"
#include "headlight/views/plot/matrix_plot.h"
#include "views/report/heads_columns.h"
#include "views/report/json_output.h"

namespace headlight {
namespace {

Json json_of(const DetectorScores& scores) {
  return {{"previous_token_head", scores.previous_token_head},
          {"duplicate_token_head", scores.duplicate_token_head},
          {"induction_head", scores.induction_head}};
}

Json json_of(const ScoredHead& head, Language language) {
  Json json = head_json(head.head);
  json["verdict"] = head.verdict.name;
  json["verdict_score"] = head.verdict.score;
  json["verdict_measure"] = head.verdict.measure;
  json["verdict_interval"] = {{"low", head.verdict.range.low}, {"high", head.verdict.range.high}};
  json["verdict_places"] = head.verdict.places;
  json["settled"] = head.verdict.settled;
  json["sentence"] = head_sentence(head, language);
  Json intervals = Json::object();
  for (std::size_t place = 0; place < score_list().size(); ++place) {
    const ScoreValue& score = head.scores[place];
    const std::string name(score_list()[place].name);
    json[name] = score.measured() ? Json(score.value.mean) : Json(nullptr);
    if (score.has_interval) {
      intervals[name] = {{"low", score.value.low}, {"high", score.value.high}};
    }
  }
  json["best_offset"] = head.best_offset;
  json["k_source"] = head.k_source ? Json(head_name(*head.k_source)) : Json(nullptr);
  json["intervals"] = std::move(intervals);
  json["detector"] = {{"mul", json_of(head.mul)}, {"abs", json_of(head.abs)}};
  return json;
}

// Returns the expected value of each score for a head with uniform attention, where it is known.
Json even_json(const HeadScores& scores) {
  Json json = Json::object();
  for (std::size_t place = 0; place < score_list().size(); ++place) {
    if (const double even = scores.heads.front().scores[place].even; std::isfinite(even)) {
      json[std::string(score_list()[place].name)] = even;
    }
  }
  return json;
}

// Returns the shortest text that reads back as exactly `value`.
std::string shortest_text(double value) {
  const bool whole = value == std::floor(value);
  return whole ? std::to_string(static_cast<Index>(value)) : Json(value).dump();
}

std::string csv_of(const HeadScores& scores) {
  std::string csv;
  for (const HeadColumn& column : head_columns()) {
    csv += column.name + ",";
  }
  for (const ScoreInfo& info : score_list()) {
    csv += std::string(info.name) + ".low," + std::string(info.name) + ".high,";
  }
  csv.back() = '\n';
  for (const ScoredHead& head : scores.heads) {
    for (const HeadColumn& column : head_columns()) {
      const bool measured = column.is_text || !std::isnan(column.number(head));
      csv += column.is_text ? column.text(head)
                            : (measured ? shortest_text(column.number(head)) : std::string());
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

Tensor column_tensor(const HeadScores& scores, const HeadColumn& column) {
  std::vector<double> values;
  for (const ScoredHead& head : scores.heads) {
    values.push_back(column.number(head));
  }
  return Tensor::from(values, {static_cast<Index>(values.size())});
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
  std::vector<HeadId> heads;
  std::vector<double> offsets;
  for (const ScoredHead& head : scores.heads) {
    heads.push_back(head.head);
    offsets.insert(offsets.end(), head.offset_share.begin(), head.offset_share.end());
  }
  NamedTensors arrays{{"heads", heads_tensor(heads)}};
  for (const HeadColumn& column : head_columns()) {
    if (!column.is_text) {
      arrays.emplace_back(column.name, column_tensor(scores, column));
    }
  }
  for (std::size_t place = 0; place < score_list().size(); ++place) {
    std::vector<double> intervals;
    for (const ScoredHead& head : scores.heads) {
      const ScoreValue& score = head.scores[place];
      intervals.push_back(score.measured() ? score.value.low : kNotMeasured);
      intervals.push_back(score.measured() ? score.value.high : kNotMeasured);
    }
    arrays.emplace_back(std::string(score_list()[place].name) + ".interval",
                        Tensor::from(intervals, {static_cast<Index>(heads.size()), 2}));
  }
  const auto width = static_cast<Index>(offsets.size() / heads.size());
  arrays.emplace_back("offset_shares",
                      Tensor::from(offsets, {static_cast<Index>(heads.size()), width}));
  if (report.distances) {
    arrays.emplace_back("js_distance",
                        square_tensor(report.distances->distance, report.distances->heads.size()));
  }
  if (report.scores.weights) {
    arrays.emplace_back("all_heads", heads_tensor(report.scores.weights->heads));
    arrays.emplace_back("k_composition_matrix", square_tensor(report.scores.weights->k_composition,
                                                              report.scores.weights->heads.size()));
  }
  return arrays;
}

std::string square_svg(const std::string& title, const HeadSet& heads, std::vector<double> values) {
  MatrixPlot plot;
  plot.title = title;
  plot.row_title = "head";
  plot.column_title = "head";
  plot.rows = plot.columns = head_names(heads);
  plot.values = std::move(values);
  plot.limit = 1;
  return matrix_plot_svg(plot);
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

std::vector<LayerMeans> layer_means(const HeadScores& scores) {
  std::map<Index, std::pair<LayerMeans, double>> layers;
  for (const ScoredHead& head : scores.heads) {
    auto& [means, count] = layers[head.head.layer];
    means.layer = head.head.layer;
    means.entropy += head.score("entropy").value.mean;
    means.mean_distance += head.score("mean_distance").value.mean;
    means.confidence += head.score("confidence").value.mean;
    means.sparsity += head.score("sparsity").value.mean;
    count += 1;
  }
  std::vector<LayerMeans> result;
  for (const auto& [layer, sums] : layers) {
    LayerMeans means = sums.first;
    for (double* value :
         {&means.entropy, &means.mean_distance, &means.confidence, &means.sparsity}) {
      *value /= sums.second;
    }
    result.push_back(means);
  }
  return result;
}

Json report_json(const HeadsReport& report, const std::vector<ScoredHead>& heads) {
  Json json{{"model_fingerprint", report.scores.model_fingerprint},
            {"sequences", report.scores.sequences},
            {"tokens", report.scores.tokens},
            {"random_tokens", report.random_tokens},
            {"caution", text_or_null(verdict_caution(heads, report.language))},
            {"heads", Json::array()},
            {"layers", Json::array()}};
  for (const ScoredHead& head : heads) {
    json["heads"].push_back(json_of(head, report.language));
  }
  for (const LayerMeans& layer : layer_means(report.scores)) {
    json["layers"].push_back({{"layer", layer.layer},
                              {"entropy", layer.entropy},
                              {"mean_distance", layer.mean_distance},
                              {"confidence", layer.confidence},
                              {"sparsity", layer.sparsity}});
  }
  json["even_weights"] = even_json(report.scores);
  json["clusters"] = Json::array();
  if (report.distances) {
    for (const HeadSet& cluster : report.distances->clusters) {
      json["clusters"].push_back(head_names(cluster));
    }
    json["cluster_threshold"] = report.threshold;
    json["compared_queries"] = report.distances->queries;
  }
  return json;
}

std::vector<std::string> write_report(const HeadsReport& report,
                                      const std::filesystem::path& directory) {
  make_folder(directory);
  std::vector<std::string> paths;
  const auto write = [&](const std::string& name, const std::string& contents) {
    paths.push_back((directory / name).string());
    write_file(paths.back(), contents);
  };
  write("heads.json", report_json(report, report.scores.heads).dump(1) + "\n");
  write("heads.csv", csv_of(report.scores));
  paths.push_back((directory / "heads.npz").string());
  write_npz(paths.back(), arrays_of(report));
  constexpr std::size_t kMostInFigure = 256;  // most heads; a figure has 256 x 256 cells
  if (report.distances && report.distances->heads.size() <= kMostInFigure) {
    write("redundancy.svg", square_svg("Jensen-Shannon distance between heads",
                                       report.distances->heads, report.distances->distance));
  }
  if (report.scores.weights && report.scores.weights->heads.size() <= kMostInFigure) {
    write("k_composition.svg", composition_svg(*report.scores.weights));
  }
  return paths;
}

}  // namespace headlight
