#include "cli/question_command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/strings/printable.h"
#include "base/transformed.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "cli/terminal/terminal.h"
#include "datasets/records.h"
#include "headlight/base/utf8.h"
#include "headlight/interpret/interventions/interventions.h"
#include "questions/question.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kText = "text";    // parameter that --ids may replace
constexpr std::string_view kTexts = "pairs";  // parameter whose records have texts

std::string listed_keys(const std::vector<ResultKey>& keys) {
  std::string list;
  for (const ResultKey& key : keys) {
    list += (list.empty() ? "" : "; ") + std::string(key.name) + ": " + std::string(key.meaning);
  }
  return list;
}

std::string details_of(const Question& question) {
  return concat_text(question.details, "\n\nJSON keys: ", listed_keys(question.facts), "; ",
                     question.rows, "[{...}], with ", listed_keys(question.columns), ".");
}

void add_option(const Parameter& parameter, Options& options) {
  const std::string name(parameter.name);
  if (options.has(name)) {  // of add_text_data_options()
    return;
  }
  const Json& fallback = parameter.fallback;
  const std::string text = fallback.is_null()     ? ""
                           : fallback.is_string() ? fallback.text()
                                                  : fallback.dump();
  switch (parameter.kind) {
    case ValueKind::flag:
      options.flag(name, parameter.help);
      break;
    case ValueKind::name:
    case ValueKind::metric:
      options.choice(name, parameter.help, parameter.choices, text);
      break;
    case ValueKind::texts:
      options.values(name, parameter.help);
      break;
    case ValueKind::records:
      options
          .value(name, parameter.help + (name == kTexts ? ": a file of JSON Lines"
                                                        : ": a file of --json, or JSON Lines"))
          .paths({name});
      break;
    case ValueKind::path:
    case ValueKind::output:
      options.value(name, parameter.help, text).paths({name});
      break;
    case ValueKind::data:
      if (name == "data") {
        add_text_data_options(options);
      } else {
        options.values(name, parameter.help).paths({name});
      }
      break;
    default:
      options.value(name, parameter.help, text).choices(parameter.choices);
  }
  if (parameter.is_basic) {
    options.basic({name});
  }
  for (const std::string_view former : parameter.former) {
    options.refused(std::string(former), "is now called --" + name);
  }
}

Options options_of(const Question& question) {
  Options options({.name = std::string(question.name),
                   .summary = std::string(question.summary),
                   .positional = "MODEL",
                   .details = details_of(question),
                   .examples = question.examples});
  for (const Parameter& parameter : question.parameters) {
    add_option(parameter, options);
    if (parameter.name == kText) {
      add_ids_option(options);
    }
  }
  if (!options.has("special_tokens") && runs_texts(question)) {
    add_special_tokens_option(options);
  }
  if (!question.makes_model && runs_texts(question)) {
    add_window_option(options);
    add_intervene_options(options);
  }
  if (question.has_ranked_rows) {
    options.value("limit", "Show the strongest N rows; 0: all", "20");
  }
  if (!always_writes(question)) {
    add_result_options(options);
  }
  if (!question.chart.empty()) {
    const std::string chart(question.chart);
    options.value(chart, std::string(question.chart_help)).paths({chart});
  }
  for (const auto& [name, now] : question.former) {
    options.refused(std::string(name), std::string(now));
  }
  return options;
}

// Values of the options.
struct Given {
  Json values = Json::object();
  std::string file = {};                 // of records; empty: none
  std::vector<std::string> places = {};  // of records
};

// Reads records, or the rows of an answer to the same question, under the key `rows`.
Json records_of(const std::string& file, std::string_view example, std::string_view rows,
                std::vector<std::string>& places) {
  Json records = Json::array();
  read_records({.path = file}, example, [&](const Json& record, const std::string& where) {
    require(record.is_object(), where, ": expected ", example);
    const Json* answer = record.find(std::string(rows));
    if (answer != nullptr && answer->is_array()) {
      require(!answer->empty(), shown(file), ": ", rows, ": expected at least one row, got none");
      records = *answer;
      return;
    }
    records.push_back(record);
    places.push_back(where);
  });
  require(!records.empty(), shown(file), ": expected JSON Lines such as ", example);
  return records;
}

Json value_of(const Question& question, const Parameter& parameter, const Options& options,
              Given& given) {
  const std::string name(parameter.name);
  switch (parameter.kind) {
    case ValueKind::flag:
      return true;
    case ValueKind::texts:
    case ValueKind::data:
      return options.texts(name);
    case ValueKind::records: {
      std::vector<std::string> places;
      Json records = records_of(options.text(name), parameter.example, question.rows, places);
      if (name == kTexts) {
        given.file = shown(options.text(name));
        given.places = std::move(places);
      }
      return records;
    }
    default:
      return value_of_text(parameter.kind, options.text(name));
  }
}

Given given_values(const Question& question, const Options& options) {
  Given given;
  for (const Parameter& parameter : question.parameters) {
    const std::string name(parameter.name);
    if (name == kText && gives_text(options) && options.given("ids")) {
      given.values[name] = options.integers("ids");
    }
    if (!options.given(name)) {
      continue;
    }
    for (const std::string_view other : parameter.excludes) {
      require(!options.given(other), "--", name, ": cannot be combined with --", other);
    }
    given.values[name] = value_of(question, parameter, options, given);
  }
  return given;
}

void check_output(const Question& question, const Options& options, const Arguments& arguments) {
  if (options.json() && options.has("limit")) {
    refuse_options(options, {"limit"}, "cannot be combined with --json, which has all rows");
  }
  const bool reads_texts =
      std::ranges::any_of(question.parameters, [&](const Parameter& parameter) {
        return parameter.kind == ValueKind::data && arguments.given(parameter.name);
      });
  if (!reads_texts && options.has("data")) {
    refuse_options(options, {"separator", "jsonl", "token_dtype"}, "needs --data");
  }
  if (!question.chart.empty() && options.given(question.chart)) {
    arguments.require_met(question.chart, question.chart_needs);
  }
}

// Warns about the texts of a command when it begins to compute: once for each option.
class TextWarnings {
 public:
  // `file`: the file of the texts; empty: options.
  TextWarnings(const Tokenizer& tokenizer, std::string file)
      : tokenizer_(tokenizer), file_(std::move(file)) {}

  std::vector<std::int32_t> encode(const std::string& text, const std::string& about,
                                   bool is_prompt) {
    require_utf8(text, about);
    std::vector<std::int32_t> ids =
        is_prompt ? tokenizer_.encode_prompt(text) : tokenizer_.encode(text);
    const std::string where = file_.empty() ? "--" + about : file_;
    texts_[where].push_back(text);
    if (is_prompt) {
      warn_about_decomposed(text, where);
      warn_about_unknown(ids, tokenizer_, where);
    }
    return ids;
  }
  void print() const {
    for (const auto& [where, texts] : texts_) {
      warn_about_special_names(texts, tokenizer_, where);
    }
  }

 private:
  const Tokenizer& tokenizer_;
  std::string file_;
  std::map<std::string, std::vector<std::string>> texts_;  // by option or file
};

// Returns the answer. Errors about records other than texts name their file.
QuestionResult answer_of(const Question& question, const Asker& asker, const Arguments& arguments,
                         const Options& options) {
  try {
    return question.answer(asker, arguments);
  } catch (const Error& error) {
    const auto parameter = std::ranges::find(question.parameters, error.about(), &Parameter::name);
    if (parameter == question.parameters.end() || parameter->kind != ValueKind::records ||
        parameter->name == kTexts) {
      throw;
    }
    fail(shown(options.text(error.about())),
         std::string(error.what()).substr(error.about().size()));
  }
}

QuestionResult ask(const Question& question, const LoadedModel& loaded, const Options& options,
                   const Arguments& arguments, const Given& given, Index limit) {
  TextWarnings warnings(*loaded.tokenizer, given.file);
  if (options.given("ids")) {
    ids_option(options, *loaded.tokenizer);  // checks them
  }
  const auto encode = [&](bool is_prompt) -> Asker::Encode {
    return [&warnings, is_prompt](const std::string& text, const std::string& about) {
      return warnings.encode(text, about, is_prompt);
    };
  };
  RecordedPasses kept(*loaded.model);
  Asker asker{
      .model = *loaded.model,
      .tokenizer = *loaded.tokenizer,
      .encode_prompt = encode(true),
      .encode = encode(false),
      .warn =
          [&](const std::string& line) { log_warning((given.file.empty() ? "--" : "") + line); },
      .inform = log_info,
      .begin = [&](Index) { warnings.print(); },
      .progress = progress_bar(std::string(question.name)),
      .limit = limit,
      .places = given.places,
      .columns = columns_of(Stream::output),
      .kept = &kept,
      .processes = &all_processes(),
      .source = options.positional()};
  for (const Parameter& parameter : question.parameters) {
    if (parameter.kind == ValueKind::data && arguments.given(parameter.name)) {
      asker.data[parameter.name] = read_model_data(options, loaded, std::string(parameter.name));
    }
  }
  return answer_of(question, asker, arguments, options);
}

// Returns a path by which files can be compared.
std::filesystem::path place_of(const std::string& text) {
  std::error_code fault;
  const std::filesystem::path path = std::filesystem::weakly_canonical(text, fault);
  return fault ? std::filesystem::path(text) : path;
}

using OptionsByFile = std::map<std::filesystem::path, std::string>;

// Returns the files that the command reads, with the names of their options.
OptionsByFile input_files(const Question& question, const Options& options) {
  OptionsByFile files;
  const auto add = [&](const std::string& name) {
    const std::vector<std::string> many = options.texts(name);
    for (const std::string& text : many.empty() ? std::vector{options.text(name)} : many) {
      files.emplace(place_of(text), name);
      files.emplace(place_of(text.substr(0, text.rfind(':'))), name);  // of FILE.npz:ARRAY
    }
  };
  for (const Parameter& parameter : question.parameters) {
    const bool is_read = parameter.kind == ValueKind::records ||
                         parameter.kind == ValueKind::path || parameter.kind == ValueKind::data;
    if (is_read && options.given(parameter.name)) {
      add(std::string(parameter.name));
    }
  }
  if (options.has("scores") && options.given("scores")) {
    add("scores");
  }
  if (options.has("intervene") && options.given("intervene")) {
    for (const Change& change : read_changes(options.text("intervene"))) {
      files.emplace(place_of(change.source.file.string()), "intervene");
    }
  }
  return files;
}

// Throws Error for an output of the command that is another one's file, or an input.
void check_files(const Question& question, const Options& options) {
  OptionsByFile files = input_files(question, options);
  for (const std::string_view output :
       {std::string_view("svg"), std::string_view("png"), std::string_view("npz"),
        std::string_view("html"), question.chart}) {
    const std::string name(output);
    if (!name.empty() && options.has(name) && options.given(name)) {
      const auto [other, is_new] = files.emplace(place_of(options.text(name)), name);
      require_value(is_new, name, options.text(name), " is also the file of --", other->second);
    }
  }
}

void question_command(const Question& question, const Options& options) {
  const Index limit = options.has("limit") ? count_option(options, "limit", 0) : 0;
  const Given given = given_values(question, options);
  const Arguments arguments(question.parameters, given.values, "--");
  check_output(question, options, arguments);
  question.check(arguments);
  const ResultFiles files(options);  // rejects invalid file names before the model is read
  check_files(question, options);
  const LoadedModel loaded =
      question.makes_model || !runs_texts(question)
          ? load_text_model(options.positional(), options)
          : load_windowed_model(options.positional(), options,
                                question.reads_masked_models ? Attention::any : Attention::causal);
  if (options.has("intervene")) {
    intervene(options, loaded, arguments.has("scores"));
  }
  const QuestionResult result = ask(question, loaded, options, arguments, given, limit);
  const bool is_ranked = std::ranges::any_of(
      result.tables, [](const ResultTable& table) { return table.ranking != Ranking::none; });
  require_value(is_ranked || !options.given("limit"), "limit",
                "has no effect: the rows of this answer have no rank");
  if (!all_processes().leads()) {
    return;
  }
  log_warnings(result.warnings);
  files.write({.svg = [&] { return figure_of(result); },
               .arrays = [&] { return arrays_of(result); },
               .page = [&] { return page_of(result); },
               .chart = result.chart});
  std::cout << (options.json() ? json_line(json_of(result, question.rows))
                               : text_of(result, limit));
}

// Runs the command of a question: reads its parameters as options, prints the result as a table or,
// with --json, as JSON, and writes the files of --svg, --png, --npz, --html and of its chart.
int run_question(const Question& question, const Words& words) {
  return run(options_of(question), words,
             [&](const Options& options) { question_command(question, options); });
}

}  // namespace

std::vector<Command> question_commands(QuestionGroup group, const std::string& heading) {
  std::vector<Command> commands;
  for (const Question* question : questions()) {
    if (question->group == group) {
      const std::string_view summary = question->summary;
      commands.push_back(
          {heading, std::string(question->name), std::string(summary.substr(0, summary.size() - 1)),
           [question](const Words& words) { return run_question(*question, words); }});
    }
  }
  return commands;
}

}  // namespace headlight::cli
