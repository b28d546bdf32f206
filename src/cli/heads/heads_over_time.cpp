#include "cli/heads/heads_over_time.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/terminal/log.h"
#include "cli/terminal/result_files.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"
#include "headlight/interpret/scores/head_verdict.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/storage/file_writer.h"
#include "interpret/scores/head_history.h"
#include "interpret/words.h"
#include "show/plot/chart.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kNamedHeads = 4;  // named in a figure; the others are grey

// Threshold of the verdict that uses this score.
double threshold_of(const std::string& score) {
  for (const VerdictRule& rule : verdict_rules()) {
    if (std::ranges::find(rule.scores, score) != rule.scores.end()) {
      return rule.threshold;
    }
  }
  return 0.5;
}

std::vector<std::string> chosen_scores(const Options& options, const HeadHistory& history) {
  const auto known = transformed(history.scores, [](const auto& entry) { return entry.first; });
  std::vector<std::string> scores;
  for (const std::string& name : split_at_commas(
           options.given("columns") ? options.text("columns") : "induction,previous_token")) {
    require(history.scores.contains(name), "--columns: expected scores of heads.jsonl, got '", name,
            "'", did_you_mean(name, known));
    scores.push_back(name);
  }
  return scores;
}

bool has_numbers(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isfinite(value); });
}

struct Birth {
  std::string score;
  HeadBirth birth;
  double threshold = 0;
};

std::vector<Birth> births_of(const HeadHistory& history, const std::vector<std::string>& scores) {
  std::vector<Birth> births;
  for (const std::string& score : scores) {
    for (const HeadBirth& birth : head_births(history, score, threshold_of(score))) {
      births.push_back({score, birth, threshold_of(score)});
    }
  }
  return births;
}

LinePlot score_panel(const HeadHistory& history, const std::string& score) {
  LinePlot plot{
      .title = score + " of every head",
      .x_label = "steps",
      .y_label = score,
      .y_from_zero = true,
  };
  const auto& curves = history.scores.at(score);
  const std::vector<std::size_t> order = heads_by_last(history, score);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    plot.series.push_back({head_name(history.heads[order[rank]]), history.iterations,
                           curves[order[rank]], rank >= kNamedHeads});
  }
  return plot;
}

// SVG of the scores above the losses, with a mark at the birth of the first head of the first
// score.
std::string picture(const HeadHistory& history, const std::vector<std::string>& scores,
                    const std::vector<Birth>& births) {
  std::vector<LinePlot> panels;
  for (const std::string& score : scores) {
    if (std::ranges::any_of(history.scores.at(score), has_numbers)) {
      panels.push_back(score_panel(history, score));
    }
  }
  if (has_numbers(history.loss)) {
    panels.push_back({.title = "Training loss",
                      .x_label = "steps",
                      .y_label = "nats a token",
                      .series = {{"", history.iterations, history.loss}}});
  }
  if (has_numbers(history.in_context)) {
    panels.push_back({.title = "Loss on random tokens and on their repetition",
                      .x_label = "steps",
                      .y_label = "nats a token",
                      .series = {{"first copy", history.iterations, history.first_copy},
                                 {"second copy", history.iterations, history.second_copy},
                                 {"second - first", history.iterations, history.in_context}}});
  }
  require(!panels.empty(), "[heads_over_time] heads.jsonl contains no value of these scores");
  const auto first = std::ranges::find_if(births, [&](const Birth& birth) {
    return birth.score == scores.front() && birth.birth.significant;
  });
  for (LinePlot& panel : panels) {
    if (first != births.end()) {
      panel.marks = {history.iterations[first->birth.time]};
    }
  }
  return line_panels_svg(panels);
}

std::string updates_text(double iteration) { return grouped(static_cast<Index>(iteration)); }

std::string charts(const HeadHistory& history, const std::vector<std::string>& scores,
                   Language language) {
  const ChartOptions size{.height = 6};
  std::string text;
  const auto add = [&](const std::string& title, const std::vector<double>& values) {
    const std::string chart = line_chart(values, size);
    text += chart.empty() ? "" : title + "\n" + chart + "\n";
  };
  for (const std::string& score : scores) {
    const std::size_t best = heads_by_last(history, score).front();
    add(say(language, "highest_at_end",
            {{"score", score}, {"head", head_name(history.heads[best])}}),
        history.scores.at(score)[best]);
  }
  add(word(language, "loss_of_training"), history.loss);
  add(word(language, "loss_in_context"), history.in_context);
  return text;
}

// Caution if too few positions were measured to settle some births; "" otherwise.
std::string births_caution(const HeadHistory& history, const std::vector<Birth>& births,
                           Language language) {
  const auto uncertain =
      std::ranges::count_if(births, [](const Birth& birth) { return !birth.birth.significant; });
  if (uncertain == 0) {
    return "";
  }
  return say(language, "births_caution",
             {{"text", history.text_positions},
              {"repeats", history.repeat_positions},
              {"uncertain", uncertain},
              {"all", births.size()}});
}

// "1.2: induction reaches 0.50 by step 550, at a training loss of 2.9"
std::string birth_text(const HeadHistory& history, const Birth& birth, Language language) {
  const double loss = history.loss[birth.birth.time];
  std::string text = say(language, "birth",
                         {{"head", head_name(birth.birth.head)},
                          {"score", birth.score},
                          {"threshold", fixed_number(birth.threshold, 2)},
                          {"step", updates_text(history.iterations[birth.birth.time])}});
  if (std::isfinite(loss)) {
    text += say(language, "birth_loss", {{"loss", fixed_number(loss, 3)}});
  }
  return text + (birth.birth.significant ? "\n" : " ?\n");
}

std::string births_text(const HeadHistory& history, const std::vector<std::string>& scores,
                        const std::vector<Birth>& births, Language language) {
  std::string text;
  for (const Birth& birth : births) {
    text += birth_text(history, birth, language);
  }
  for (const std::string& score : scores) {
    if (std::ranges::none_of(births, [&](const Birth& birth) { return birth.score == score; })) {
      text += say(language, "no_birth",
                  {{"score", score}, {"threshold", fixed_number(threshold_of(score), 2)}}) +
              "\n";
    }
  }
  return text;
}

std::string times_text(const HeadHistory& history, Language language) {
  return say(language, "times_measured",
             {{"heads", grouped(static_cast<Index>(history.heads.size()))},
              {"times", grouped(static_cast<Index>(history.iterations.size()))},
              {"first", updates_text(history.iterations.front())},
              {"last", updates_text(history.iterations.back())}}) +
         "\n";
}

Json births_json(const HeadHistory& history, const std::vector<Birth>& births) {
  return transformed(births, [&](const Birth& birth) -> Json {
    const std::size_t time = birth.birth.time;
    return {{"score", birth.score},
            {"head", head_name(birth.birth.head)},
            {"threshold", birth.threshold},
            {"settled", birth.birth.significant},
            {"iteration", static_cast<Index>(history.iterations[time])},
            {"loss", history.loss[time]},
            {"in_context", history.in_context[time]}};
  });
}

Json report_json(const HeadHistory& history, const std::vector<std::string>& scores,
                 const std::vector<Birth>& births, const std::vector<std::string>& files) {
  Json curves = Json::object();
  for (const std::string& score : scores) {
    for (std::size_t head = 0; head < history.heads.size(); ++head) {
      curves[score][head_name(history.heads[head])] = history.scores.at(score)[head];
    }
  }
  return {{"iterations", history.iterations},       {"loss", history.loss},
          {"first_copy_loss", history.first_copy},  {"second_copy_loss", history.second_copy},
          {"in_context", history.in_context},       {"scores", curves},
          {"births", births_json(history, births)}, {"files", files}};
}

// Writes the figure and returns its path. Without --out, a read-only run causes only a warning.
std::vector<std::string> write_picture(const Options& options, const std::string& svg) {
  const std::filesystem::path directory =
      options.given("out") ? options.text("out") : options.positional();
  const std::filesystem::path path = directory / "heads_over_time.svg";
  try {
    make_folder(directory);
    write_file(path, svg);
  } catch (const Error& error) {
    if (options.given("out")) {
      throw;
    }
    log_warning(concat_text(error.what(), "; --out DIR writes the figure elsewhere"));
    return {};
  }
  return {path.string()};
}

}  // namespace

void show_heads_over_time(const Options& options) {
  const Language language = options.chosen<Language>("lang");
  const HeadHistory history = read_head_history(options.positional());
  const std::vector<std::string> scores = chosen_scores(options, history);
  const std::vector<Birth> births = births_of(history, scores);
  const std::vector<std::string> files = write_picture(options, picture(history, scores, births));
  const std::string caution = births_caution(history, births, language);
  if (options.json()) {
    Json json = report_json(history, scores, births, files);
    json["caution"] = text_or_null(caution);
    print_json(json);
  } else {
    std::cout << times_text(history, language) << (caution.empty() ? "" : caution + "\n") << "\n"
              << charts(history, scores, language) << births_text(history, scores, births, language)
              << written_text(files);
  }
}

}  // namespace headlight::cli
