#include "show/report/heads_report.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/strings/split.h"
#include "base/transformed.h"
#include "interpret/words.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kStrong = "\033[1;36m";  // shares of 0.5 and more
constexpr const char* kWarning = "\033[33m";
constexpr const char* kPlain = "";

std::string painted(const std::string& text, const char* style, bool colour) {
  return colour && style[0] != '\0' ? style + text + kStyleEnd : text;
}

// Returns the terminal style of a verdict, which makes heads of one class easy to find.
const char* verdict_style(std::string_view verdict) {
  struct Style {
    std::string_view verdict;
    const char* style;
  };
  constexpr std::array<Style, 9> kStyles{{{"induction", "\033[1;35m"},
                                          {"duplicate_token", "\033[35m"},
                                          {"delimiter", "\033[1;33m"},
                                          {"agreement", "\033[33m"},
                                          {"name_mover", "\033[1;32m"},
                                          {"previous_token", "\033[1;36m"},
                                          {"same_token", "\033[36m"},
                                          {"fixed_offset", "\033[36m"},
                                          {"first_token", "\033[34m"}}};
  const auto* style = std::ranges::find(kStyles, verdict, &Style::verdict);
  return style == kStyles.end() ? kFaintStyle : style->style;
}

const char* cell_style(const ResultColumn& column, std::size_t row) {
  if (column.name == "verdict") {
    return verdict_style(column.label(row));
  }
  if (column.form != NumberForm::share) {
    return kPlain;
  }
  const double value = column.number(row);
  return value >= 0.5 ? kStrong : (value >= 0.1 ? kPlain : kFaintStyle);
}

std::string table_text(const ResultTable& table, const HeadsTextOptions& options,
                       Language language) {
  Table shown = text_table(table);
  const std::size_t left_out = options.width > 0 ? shown.fit(options.width) : 0;
  std::string text = shown.text([&](std::size_t row, std::size_t column, const std::string& cell) {
    const char* style = row == 0 ? kBold : cell_style(table.columns[column], row - 1);
    return painted(cell, style, options.colour);
  });
  if (options.legend) {
    text += painted(say(language, "legend_of_heads"), kFaintStyle, options.colour) + "\n";
  }
  if (left_out > 0) {
    text += painted(say(language, "columns_left_out", {{"count", left_out}}), kFaintStyle,
                    options.colour) +
            "\n";
  }
  return text;
}

std::string sentences_text(const HeadsReport& report, const std::vector<ScoredHead>& heads,
                           bool colour) {
  std::string text;
  for (const ScoredHead& head : heads) {
    const std::string name = head_name(head.head);
    std::string sentence = head_sentence(head, report.language);
    const ScoreValue& score = head.score(head.verdict.measure);
    const bool shows_score = head.verdict.name != "mixed" || !head.verdict.leans.empty();
    if (shows_score && score.has_interval && head.verdict.significant) {
      sentence += painted(say(report.language, "score_range",
                              {{"low", fixed_number(score.value.low, 2)},
                               {"high", fixed_number(score.value.high, 2)}}),
                          kFaintStyle, colour);
    }
    sentence += even_weights_text(head, report.language);
    text += painted(name, verdict_style(head.verdict.name), colour) +
            sentence.substr(std::min(name.size(), sentence.size())) + "\n";
  }
  return text;
}

double mean_distance_within(const HeadDistances& distances, const HeadSet& cluster) {
  const auto index_of = [&](const HeadId& head) {
    return static_cast<std::size_t>(std::ranges::find(distances.heads, head) -
                                    distances.heads.begin());
  };
  double sum = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    for (std::size_t j = i + 1; j < cluster.size(); ++j) {
      sum += distances.between(index_of(cluster[i]), index_of(cluster[j]));
      pairs += 1;
    }
  }
  return sum / pairs;
}

// Returns "0.1 0.2": up to 12 names, then the number of other heads.
std::string names_of(const HeadSet& heads, Language language) {
  const std::size_t named = std::min<std::size_t>(heads.size(), 12);
  const std::string names = joined(head_names(std::span<const HeadId>(heads).first(named)), " ");
  return named == heads.size() ? names
                               : say(language, "names_and_others",
                                     {{"names", names}, {"count", heads.size() - named}});
}

// Returns the line with the numbers of tokens and sequences that the scores are based on.
std::string measured_on(const HeadsReport& report) {
  return (report.random_tokens ? word(report.language, "measured_on_random") : "") +
         say(report.language, "measured_on",
             {{"tokens", grouped(report.scores.tokens)},
              {"sequences", grouped(report.scores.sequences)}}) +
         "\n";
}

}  // namespace

std::vector<std::string> cluster_warnings(const HeadsReport& report) {
  std::vector<std::string> warnings;
  const std::optional<HeadDistances>& distances = report.scores.distances;
  if (!distances) {
    return warnings;
  }
  for (const HeadSet& cluster : distances->clusters) {
    const std::string names = names_of(cluster, report.language);
    const std::string distance = fixed_number(mean_distance_within(*distances, cluster), 2);
    warnings.push_back(
        say(report.language, "duplicated_patterns", {{"names", names}, {"distance", distance}}));
  }
  return warnings;
}

std::string heads_text(const HeadsReport& report, const std::vector<ScoredHead>& heads,
                       const ResultTable& table, const HeadsTextOptions& options) {
  const Language language = report.language;
  std::string text = measured_on(report);
  const std::string caution = verdict_caution(heads, language);
  text += caution.empty() ? "" : painted(caution, kWarning, options.colour) + "\n";
  text += "\n";
  if (heads.empty()) {
    return text + word(language, "no_head_fits") + "\n";
  }
  text += table_text(table, options, language) + "\n" +
          sentences_text(report, heads, options.colour) + "\n" +
          text_table(layer_table(report.scores, language)).text();
  const std::vector<std::string> warnings = cluster_warnings(report);
  text += warnings.empty() ? "" : "\n";
  for (const std::string& warning : warnings) {
    text += painted(warning, kWarning, options.colour) + "\n";
  }
  return text;
}

}  // namespace headlight
