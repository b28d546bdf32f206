#include "views/report/heads_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/read_number.h"
#include "base/split.h"
#include "headlight/base/nearest_name.h"
#include "views/report/table.h"

namespace headlight {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct ColumnTitle {
  std::string english;
  std::string korean;
};

HeadColumn number_column(std::string name, ColumnTitle title,
                         std::function<double(const ScoredHead&)> number, int decimals) {
  HeadColumn column;
  column.name = std::move(name);
  column.title = std::move(title.english);
  column.korean_title = std::move(title.korean);
  column.decimals = decimals;
  column.number = std::move(number);
  return column;
}

HeadColumn text_column(std::string name, ColumnTitle title,
                       std::function<std::string(const ScoredHead&)> text) {
  HeadColumn column;
  column.name = std::move(name);
  column.title = std::move(title.english);
  column.korean_title = std::move(title.korean);
  column.is_text = true;
  column.text = std::move(text);
  return column;
}

HeadColumn score_column(std::size_t place) {
  const ScoreInfo& info = score_list()[place];
  HeadColumn column = number_column(
      std::string(info.name), {std::string(info.title), std::string(info.korean_title)},
      [place](const ScoredHead& head) {
        const ScoreValue& score = head.scores[place];
        return score.measured() ? score.value.mean : kNothing;
      },
      info.high > info.low ? 2 : 1);
  column.is_share = info.low == 0 && info.high == 1;
  if (info.name == "entropy") {
    column.decimals = 2;
  }
  return column;
}

void add_detector_columns(std::vector<HeadColumn>& columns) {
  struct Part {
    const char* name;
    double DetectorScores::*score;
  };
  constexpr std::array<Part, 3> kParts{
      {{"previous_token_head", &DetectorScores::previous_token_head},
       {"duplicate_token_head", &DetectorScores::duplicate_token_head},
       {"induction_head", &DetectorScores::induction_head}}};
  for (const Part& part : kParts) {
    const auto score = part.score;
    const std::string mul = std::string("mul.") + part.name;
    const std::string abs = std::string("abs.") + part.name;
    columns.push_back(number_column(
        mul, {mul, mul}, [score](const ScoredHead& head) { return head.mul.*score; }, 3));
    columns.push_back(number_column(
        abs, {abs, abs}, [score](const ScoredHead& head) { return head.abs.*score; }, 3));
  }
}

// Adds the columns of the verdict: class, deciding score, value, interval, places and settled.
void add_verdict_columns(std::vector<HeadColumn>& columns) {
  columns.push_back(text_column("verdict", {"does", "하는 일"}, [](const ScoredHead& head) {
    return std::string(head.verdict.name);
  }));
  columns.back().label = [](const ScoredHead& head, Language language) {
    return std::string(verdict_label(head.verdict.name, language)) +
           (head.verdict.settled ? "" : " ?");
  };
  columns.push_back(text_column("verdict_measure", {"by", "근거"}, [](const ScoredHead& head) {
    return std::string(head.verdict.measure);
  }));
  columns.back().label = [](const ScoredHead& head, Language language) {
    const ScoreInfo& info = score_list()[score_index(head.verdict.measure)];
    return std::string(language == Language::korean ? info.korean_title : info.title);
  };
  const auto add = [&](const char* name, ColumnTitle title, auto number, int decimals) {
    columns.push_back(number_column(name, std::move(title), number, decimals));
    columns.back().is_share = decimals > 0;
  };
  add(
      "verdict_score", {"score", "점수"}, [](const ScoredHead& head) { return head.verdict.score; },
      2);
  add(
      "verdict_low", {"from", "하한"},
      [](const ScoredHead& head) { return head.verdict.range.low; }, 2);
  add(
      "verdict_high", {"to", "상한"},
      [](const ScoredHead& head) { return head.verdict.range.high; }, 2);
  add(
      "verdict_places", {"places", "자리"},
      [](const ScoredHead& head) { return head.verdict.places; }, 0);
  add(
      "settled", {"settled", "확실"},
      [](const ScoredHead& head) { return head.verdict.settled ? 1.0 : 0.0; }, 0);
}

std::vector<HeadColumn> all_columns() {
  std::vector<HeadColumn> columns{
      text_column("head", {"head", "헤드"},
                  [](const ScoredHead& head) { return head_name(head.head); }),
      number_column(
          "layer", {"layer", "층"},
          [](const ScoredHead& head) { return static_cast<double>(head.head.layer); }, 0),
      number_column(
          "index", {"index", "번호"},
          [](const ScoredHead& head) { return static_cast<double>(head.head.head); }, 0)};
  add_verdict_columns(columns);
  for (std::size_t place = 0; place < score_list().size(); ++place) {
    columns.push_back(score_column(place));
    if (score_list()[place].name == "offset_share") {
      columns.push_back(number_column(
          "best_offset", {"back", "몇 칸"},
          [](const ScoredHead& head) { return static_cast<double>(head.best_offset); }, 0));
    } else if (score_list()[place].name == "k_composition") {
      columns.push_back(text_column("k_source", {"with", "상대"}, [](const ScoredHead& head) {
        return head.k_source ? head_name(*head.k_source) : std::string("-");
      }));
    }
  }
  add_detector_columns(columns);
  return columns;
}

struct Condition {
  HeadColumn column;
  std::string comparison;  // ">=", "<=", "!=", "=", ">" or "<"
  std::string text;        // value to compare with, for text columns
  double number = 0;
};

Condition parse_condition(const std::string& part) {
  const std::size_t begin = part.find_first_of("<>=!");
  const std::size_t end =
      begin == std::string::npos ? begin : part.find_first_not_of("<>=!", begin);
  require_value(begin != std::string::npos && begin > 0 && end != std::string::npos, "filter",
                "expected a condition like induction>0.5, got '", part, "'");
  Condition condition{head_column(part.substr(0, begin), "filter"), part.substr(begin, end - begin),
                      part.substr(end)};
  if (condition.comparison == "==") {
    condition.comparison = "=";
  }
  const std::vector<std::string> known =
      condition.column.is_text ? std::vector<std::string>{"=", "!="}
                               : std::vector<std::string>{">", ">=", "<", "<=", "=", "!="};
  require_value(std::find(known.begin(), known.end(), condition.comparison) != known.end(),
                "filter", condition.column.name, " cannot be compared by '", condition.comparison,
                "'");
  if (!condition.column.is_text) {
    condition.number = read_number<double>(condition.text).value_or(std::nan(""));
    require_value(std::isfinite(condition.number), "filter", "expected a number after ",
                  condition.column.name, condition.comparison, ", got '", condition.text, "'");
  }
  return condition;
}

// Removes blanks and '_': filters may write the labels with either or neither.
std::string plain(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter != ' ' && letter != '_') {
      result += letter;
    }
  }
  return result;
}

bool meets(const ScoredHead& head, const Condition& condition) {
  if (condition.column.is_text) {
    const bool same = plain(condition.column.text(head)) == plain(condition.text);
    return same == (condition.comparison == "=");
  }
  const double value = condition.column.number(head);
  if (std::isnan(value)) {
    return false;
  }
  const double difference = value - condition.number;
  const std::string& by = condition.comparison;
  return (difference > 0 && (by[0] == '>' || by == "!=")) ||
         (difference < 0 && (by[0] == '<' || by == "!=")) ||
         (difference == 0 && by != "!=" && by.back() == '=');
}

}  // namespace

std::string HeadColumn::cell(const ScoredHead& head, Language language) const {
  if (is_text) {
    return label ? label(head, language) : text(head);
  }
  const double value = number(head);
  return std::isnan(value) ? "-" : fixed_number(value, decimals);
}

const std::vector<HeadColumn>& head_columns() {
  static const std::vector<HeadColumn> kColumns = all_columns();
  return kColumns;
}

const HeadColumn& head_column(std::string_view name, std::string_view option) {
  std::vector<std::string> names;
  for (const HeadColumn& column : head_columns()) {
    if (column.name == name) {
      return column;
    }
    names.push_back(column.name);
  }
  fail_value(option, "no column is called '", name, "'", did_you_mean(name, names));
}

std::vector<HeadColumn> parse_columns(const std::string& names) {
  std::vector<HeadColumn> columns;
  for (const std::string& name : split_at_commas(names)) {
    columns.push_back(head_column(name));
  }
  require_value(!columns.empty(), "columns", "expected names of columns, got none");
  return columns;
}

std::vector<HeadColumn> usual_columns(const HeadScores& scores) {
  std::vector<HeadColumn> columns{head_column("head"), head_column("verdict"),
                                  head_column("verdict_measure"), head_column("verdict_score")};
  if (std::any_of(scores.heads.begin(), scores.heads.end(),
                  [](const ScoredHead& head) { return !head.verdict.settled; })) {
    columns.push_back(head_column("verdict_places"));
  }
  for (std::size_t place = 0; place < score_list().size(); ++place) {
    const bool measured =
        std::any_of(scores.heads.begin(), scores.heads.end(),
                    [&](const ScoredHead& head) { return head.scores[place].measured(); });
    if (measured && score_list()[place].usual) {
      columns.push_back(head_column(std::string(score_list()[place].name)));
    }
  }
  return columns;
}

void filter_heads(const std::string& conditions, std::vector<ScoredHead>& heads) {
  for (const std::string& part : split_at_commas(conditions)) {
    const Condition condition = parse_condition(part);
    std::erase_if(heads, [&](const ScoredHead& head) { return !meets(head, condition); });
  }
}

void sort_heads(const std::string& column_name, bool ascending, std::vector<ScoredHead>& heads) {
  const HeadColumn& column = head_column(column_name, "sort");
  const bool by_place = column.name == "head" || column.name == "layer" || column.name == "index";
  const auto before = [&](const ScoredHead& a, const ScoredHead& b) {
    if (column.name == "head") {
      return a.head < b.head;
    }
    if (column.is_text) {
      return column.text(a) < column.text(b);
    }
    const double x = column.number(a);
    const double y = column.number(b);
    if (std::isnan(x) || std::isnan(y)) {
      return !std::isnan(x) && std::isnan(y);
    }
    return ascending || by_place ? x < y : x > y;
  };
  std::stable_sort(heads.begin(), heads.end(), before);
}

}  // namespace headlight
