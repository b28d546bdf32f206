#include "show/report/heads_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "interpret/words.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

Json interval_of(const Interval& interval) {
  return {{"low", interval.low}, {"high", interval.high}};
}

Json intervals_of(const ScoredHead& head, const std::vector<ScoreInfo>& list) {
  Json intervals = Json::object();
  for (std::size_t index = 0; index < list.size(); ++index) {
    if (head.scores[index].has_interval) {
      intervals[list[index].name] = interval_of(head.scores[index].value);
    }
  }
  return intervals;
}

// Makes columns of heads, with the titles of a language or, for JSON alone, without.
struct HeadColumns {
  ColumnsOf<std::vector<ScoredHead>> of;
  Language language;

  // Numbers with decimals are shares.
  template <class Value>
  ResultColumn titled(const std::string& name, const Value& value, ColumnUse use = ColumnUse::all,
                      int decimals = 0) const {
    return of(name, value, word(language, "column_" + name), use)
        .as(decimals > 0 ? NumberForm::share : NumberForm::plain, decimals);
  }
  template <class Value>
  ResultColumn json(const char* name, const Value& value) const {
    return of(name, value, "", ColumnUse::json);
  }
};

std::vector<ResultColumn> verdict_columns(const HeadColumns& make) {
  using Head = ScoredHead;
  const auto of_verdict = [](auto member) {
    return [member](const Head& head) { return head.verdict.*member; };
  };
  ResultColumn verdict = make.titled("verdict", of_verdict(&Verdict::name));
  verdict.shown = transformed(make.of.items, [&](const Head& head) {
    return std::string(verdict_label(head.verdict.name, make.language)) +
           (head.verdict.significant ? "" : " ?");
  });
  ResultColumn measure = make.titled("verdict_measure", of_verdict(&Verdict::measure));
  measure.shown = transformed(make.of.items, [&](const Head& head) {
    return word(make.language, concat_text("column_", head.verdict.measure));
  });
  const auto low = [](const Head& head) { return head.verdict.range.low; };
  const auto high = [](const Head& head) { return head.verdict.range.high; };
  const auto settled = [](const Head& head) { return head.verdict.significant ? 1.0 : 0.0; };
  return {
      make.titled("head", &Head::head),
      make.titled("layer", [](const Head& head) { return head.head.layer; }),
      make.titled("index", [](const Head& head) { return head.head.head; }),
      std::move(verdict),
      std::move(measure),
      make.titled("verdict_score", of_verdict(&Verdict::score), ColumnUse::all, 2),
      make.titled("verdict_low", low, ColumnUse::arrays, 2),
      make.titled("verdict_high", high, ColumnUse::arrays, 2),
      make.json("verdict_interval",
                [](const Head& head) { return interval_of(head.verdict.range); }),
      make.titled("verdict_places", of_verdict(&Verdict::queries)),
      make.titled("settled", settled, ColumnUse::arrays),
      make.json("settled", [](const Head& head) -> Json { return head.verdict.significant; }),
      make.json("sentence", [&](const Head& head) { return head_sentence(head, make.language); })};
}

ResultColumn score_column(const HeadColumns& make, const ScoreInfo& info, std::size_t index) {
  const auto value = [&](const ScoredHead& head) {
    return head.scores[index].measured() ? head.scores[index].value.mean : kNothing;
  };
  const bool is_own = info.group == "own";
  return make.of(info.name, value, is_own ? info.title : word(make.language, "column_" + info.name))
      .as(info.low == 0 && info.high == 1 ? NumberForm::share : NumberForm::plain,
          info.high > info.low || info.name == "entropy" ? 2 : 1);
}

// Returns the columns that follow a score: the best offset, or the source of K-composition.
std::vector<ResultColumn> columns_after(const HeadColumns& make, const std::string& score) {
  if (score == "k_composition") {
    const auto source = [](const ScoredHead& head) {
      return head.k_source ? head_name(*head.k_source) : std::string("-");
    };
    return {make.titled("k_source", source, ColumnUse::arrays),
            make.json("k_source", &ScoredHead::k_source)};
  }
  if (score != "offset_share") {
    return {};
  }
  const auto offset = [](const ScoredHead& head) {
    return head.score("offset_share").measured() ? std::optional(head.best_offset) : std::nullopt;
  };
  const auto number = [&](const ScoredHead& head) {
    return offset(head) ? static_cast<double>(*offset(head)) : kNothing;
  };
  return {make.titled("best_offset", number, ColumnUse::arrays), make.json("best_offset", offset)};
}

// Returns values as bars, padded with blanks; the largest has 16 characters.
std::vector<std::string> bars_of(const std::vector<double>& values, int decimals) {
  constexpr int kWidth = 16;
  const double most = *std::ranges::max_element(values);
  return transformed(values, [=](double value) {
    const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
    const int eighths = static_cast<int>(std::lround(share * kWidth * 8));
    return pad_right(block_bar(eighths), kWidth) + " " + fixed_number(value, decimals);
  });
}

}  // namespace

ResultTable head_table(const std::vector<ScoredHead>& heads, const std::vector<ScoreInfo>& list,
                       Language language) {
  const HeadColumns make{{heads}, language};
  ResultTable table{.columns = verdict_columns(make)};
  for (std::size_t index = 0; index < list.size(); ++index) {
    const std::string& name = list[index].name;
    require_value(std::ranges::count(table.columns, name, &ResultColumn::name) == 0, "annotations",
                  "the relation '", name, "' has the name of a column: rename it");
    table.columns.push_back(score_column(make, list[index], index));
    std::ranges::move(columns_after(make, name), std::back_inserter(table.columns));
  }
  table.columns.push_back(
      make.json("intervals", [&](const ScoredHead& head) { return intervals_of(head, list); }));
  return table;
}

std::string default_columns(const HeadScores& scores) {
  const bool all_settled = std::ranges::all_of(
      scores.heads, [](const ScoredHead& head) { return head.verdict.significant; });
  std::string names = "head,verdict,verdict_measure,verdict_score";
  names += all_settled ? "" : ",verdict_places";
  for (std::size_t index = 0; index < scores.list.size(); ++index) {
    const bool is_measured = std::ranges::any_of(
        scores.heads, [&](const ScoredHead& head) { return head.scores[index].measured(); });
    names += is_measured && scores.list[index].is_default ? "," + scores.list[index].name : "";
  }
  return names;
}

ResultTable layer_table(const HeadScores& scores, Language language) {
  std::map<Index, std::vector<ScoredHead>> layers;
  for (const ScoredHead& head : scores.heads) {
    layers[head.head.layer].push_back(head);
  }
  const ColumnsOf of_layers{layers};
  ResultTable table{.key = "layers", .columns = {}};
  table.columns.push_back(of_layers(
      "layer", [](const auto& layer) { return layer.first; }, word(language, "column_layer")));
  table.columns.back().shown =
      transformed(layers, [](const auto& layer) { return std::to_string(layer.first); });
  for (const std::string name : {"entropy", "mean_distance", "confidence", "sparsity"}) {
    const std::size_t index = score_index(name);
    const std::vector<double> means = transformed(layers, [&](const auto& layer) {
      double sum = 0;
      for (const ScoredHead& head : layer.second) {
        sum += head.scores[index].value.mean;
      }
      return sum / static_cast<double>(layer.second.size());
    });
    table.columns.push_back({.name = name, .values = means});
    ResultColumn& column = table.columns.back();
    if (name == "entropy" || name == "mean_distance") {
      column.title = word(language, name == "entropy" ? "entropy_of_layer" : "distance_of_layer");
      column.shown = bars_of(means, name == "entropy" ? 2 : 1);
    }
  }
  return table;
}

}  // namespace headlight
