#include "show/report/heads_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "base/strings/read_number.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "headlight/base/nearest_name.h"
#include "interpret/words.h"
#include "show/report/parts/table.h"

namespace headlight {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Returns a column of whole numbers or, with decimals, of shares.
HeadColumn number_column(const char* name, int decimals,
                         std::function<double(const ScoredHead&)> number) {
  return {
      .name = name, .decimals = decimals, .is_share = decimals > 0, .number = std::move(number)};
}

HeadColumn score_column(const ScoreInfo& info, std::size_t index) {
  return {.name = info.name,
          .title = info.group == "own" ? info.title : "",
          .decimals = info.high > info.low || info.name == "entropy" ? 2 : 1,
          .is_share = info.low == 0 && info.high == 1,
          .number = [index](const ScoredHead& head) {
            const ScoreValue& score = head.scores[index];
            return score.measured() ? score.value.mean : kNothing;
          }};
}

std::string verdict_text(const ScoredHead& head, Language language) {
  return std::string(verdict_label(head.verdict.name, language)) +
         (head.verdict.significant ? "" : " ?");
}

std::string measure_title(const ScoredHead& head, Language language) {
  return word(language, concat_text("column_", head.verdict.measure));
}

// Columns of the head and its verdict: class, deciding score, value, interval, places and settled.
std::vector<HeadColumn> first_columns() {
  using Head = ScoredHead;
  return {
      {.name = "head", .text = [](const Head& head) { return head_name(head.head); }},
      number_column("layer", 0, [](const Head& head) { return head.head.layer; }),
      number_column("index", 0, [](const Head& head) { return head.head.head; }),
      {.name = "verdict",
       .text = [](const Head& head) { return std::string(head.verdict.name); },
       .label = verdict_text},
      {.name = "verdict_measure",
       .text = [](const Head& head) { return std::string(head.verdict.measure); },
       .label = measure_title},
      number_column("verdict_score", 2, [](const Head& head) { return head.verdict.score; }),
      number_column("verdict_low", 2, [](const Head& head) { return head.verdict.range.low; }),
      number_column("verdict_high", 2, [](const Head& head) { return head.verdict.range.high; }),
      number_column("verdict_places", 0, [](const Head& head) { return head.verdict.queries; }),
      number_column("settled", 0, [](const Head& head) { return head.verdict.significant; })};
}

struct Comparison {
  std::string_view name;
  bool (*holds)(double value, double bound);
};
constexpr std::array<Comparison, 6> kComparisons{
    {{"=", [](double value, double bound) { return value == bound; }},
     {"!=", [](double value, double bound) { return value != bound; }},
     {">", [](double value, double bound) { return value > bound; }},
     {">=", [](double value, double bound) { return value >= bound; }},
     {"<", [](double value, double bound) { return value < bound; }},
     {"<=", [](double value, double bound) { return value <= bound; }}}};
constexpr std::size_t kTextComparisons = 2;  // the first two also compare texts

struct Condition {
  const HeadColumn& column;
  const Comparison& comparison;
  std::string text;   // value to compare with, for text columns
  double number = 0;  // for others
};

Condition parse_condition(const HeadColumns& columns, const std::string& part) {
  const std::size_t begin = part.find_first_of("<>=!");
  const std::size_t end =
      begin == std::string::npos ? begin : part.find_first_not_of("<>=!", begin);
  require_value(begin != std::string::npos && begin > 0 && end != std::string::npos, "filter",
                "expected a condition like induction>0.5, got '", part, "'");
  const HeadColumn& column = head_column(columns, part.substr(0, begin), "filter");
  const std::string comparison = part.substr(begin, end - begin);
  const std::string text = part.substr(end);
  const auto known =
      std::span(kComparisons).first(column.is_text() ? kTextComparisons : kComparisons.size());
  const auto found =
      std::ranges::find(known, comparison == "==" ? "=" : comparison, &Comparison::name);
  require_value(found != known.end(), "filter", column.name, " cannot be compared by '", comparison,
                "'");
  const double number = read_number<double>(text).value_or(std::nan(""));
  require_value(column.is_text() || std::isfinite(number), "filter", "expected a number after ",
                column.name, found->name, ", got '", text, "'");
  return {column, *found, text, number};
}

// Removes blanks and '_': filters may write the labels with either or neither.
std::string plain(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '_'; });
  return text;
}

bool satisfies(const ScoredHead& head, const Condition& condition) {
  if (condition.column.is_text()) {
    const bool same = plain(condition.column.text(head)) == plain(condition.text);
    return same == (condition.comparison.name == "=");
  }
  const double value = condition.column.number(head);
  return !std::isnan(value) && condition.comparison.holds(value, condition.number);
}

}  // namespace

std::string HeadColumn::heading(Language language) const {
  return title.empty() ? word(language, "column_" + name) : title;
}

std::string HeadColumn::cell(const ScoredHead& head, Language language) const {
  if (is_text()) {
    return label ? label(head, language) : text(head);
  }
  const double value = number(head);
  return std::isnan(value) ? "-" : fixed_number(value, decimals);
}

HeadColumns head_columns(const std::vector<ScoreInfo>& list) {
  HeadColumns columns = first_columns();
  for (std::size_t index = 0; index < list.size(); ++index) {
    columns.push_back(score_column(list[index], index));
    if (list[index].name == "offset_share") {
      columns.push_back(number_column("best_offset", 0, [](const ScoredHead& head) {
        return head.score("offset_share").measured() ? static_cast<double>(head.best_offset)
                                                     : kNothing;
      }));
    } else if (list[index].name == "k_composition") {
      columns.push_back({.name = "k_source"});
      columns.back().text = [](const ScoredHead& head) {
        return head.k_source ? head_name(*head.k_source) : std::string("-");
      };
    }
  }
  std::set<std::string> names;
  for (const HeadColumn& column : columns) {
    require_value(names.insert(column.name).second, "annotations", "the relation '", column.name,
                  "' has the name of a column: rename it");
  }
  return columns;
}

const HeadColumn& head_column(const HeadColumns& columns, std::string_view name,
                              std::string_view option) {
  const auto found = std::ranges::find(columns, name, &HeadColumn::name);
  if (found == columns.end()) {
    fail_value(option, "no column is called '", name, "'",
               did_you_mean(name, transformed(columns, &HeadColumn::name)));
  }
  return *found;
}

HeadColumns parse_columns(const HeadColumns& columns, const std::string& names) {
  const HeadColumns chosen = transformed(
      split_at_commas(names), [&](const std::string& name) { return head_column(columns, name); });
  require_value(!chosen.empty(), "columns", "expected names of columns, got none");
  return chosen;
}

HeadColumns default_columns(const HeadScores& scores) {
  const HeadColumns all = head_columns(scores.list);
  HeadColumns columns = parse_columns(all, "head,verdict,verdict_measure,verdict_score");
  if (std::any_of(scores.heads.begin(), scores.heads.end(),
                  [](const ScoredHead& head) { return !head.verdict.significant; })) {
    columns.push_back(head_column(all, "verdict_places"));
  }
  for (std::size_t index = 0; index < scores.list.size(); ++index) {
    const bool measured =
        std::any_of(scores.heads.begin(), scores.heads.end(),
                    [&](const ScoredHead& head) { return head.scores[index].measured(); });
    if (measured && scores.list[index].is_default) {
      columns.push_back(head_column(all, scores.list[index].name));
    }
  }
  return columns;
}

void filter_heads(const HeadColumns& columns, const std::string& conditions,
                  std::vector<ScoredHead>& heads) {
  for (const std::string& part : split_at_commas(conditions)) {
    const Condition condition = parse_condition(columns, part);
    std::erase_if(heads, [&](const ScoredHead& head) { return !satisfies(head, condition); });
  }
}

void sort_heads(const HeadColumns& columns, const std::string& column_name, bool ascending,
                std::vector<ScoredHead>& heads) {
  const HeadColumn& column = head_column(columns, column_name, "sort");
  const bool by_location =
      column.name == "head" || column.name == "layer" || column.name == "index";
  const auto before = [&](const ScoredHead& a, const ScoredHead& b) {
    if (column.name == "head") {
      return a.head < b.head;
    }
    if (column.is_text()) {
      return column.text(a) < column.text(b);
    }
    const double x = column.number(a);
    const double y = column.number(b);
    if (std::isnan(x) || std::isnan(y)) {
      return !std::isnan(x) && std::isnan(y);
    }
    return ascending || by_location ? x < y : x > y;
  };
  std::stable_sort(heads.begin(), heads.end(), before);
}

}  // namespace headlight
