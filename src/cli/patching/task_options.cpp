#include "cli/patching/task_options.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "base/strings/display_text.h"
#include "base/strings/printable.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "datasets/records.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/datasets/text_source.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"

namespace headlight::cli {

const std::string kExamplePair =
    "--clean \"Mina could not find her red key. She looked under the table, but there was no red\" "
    "--corrupt \"Mina could not find her red hat. She looked under the table, but there was no "
    "red\" --answer \" key\" --wrong \" hat\"";

const char* const kTaskDetails =
    "The metric is log p(answer) - log p(wrong) after the text. For single tokens this is the "
    "difference of their logits. Answers of several tokens, which may differ in length, use "
    "the sum of the log-probabilities of their tokens, each after the text and the answer's "
    "earlier tokens. An answer is given as text, or as token ids: \"#42\" or \"#42 #7\". "
    "Without --answer and --wrong, these are the most probable next tokens of the two texts. "
    "The texts must have the same number of tokens. --metric measures another number; shares "
    "are again 0 for the corrupt text and 1 for the clean one, and the model's strength in the "
    "task "
    "is not judged.\n";

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// First and last position of "3", "5-6" or "last"; none for other text.
std::optional<std::pair<Index, Index>> position_range(const std::string& part, Index length) {
  if (part == "last") {
    return std::pair{length - 1, length - 1};
  }
  const std::size_t dash = std::min(part.find('-'), part.size());
  const std::string first = part.substr(0, dash);
  const std::string last = dash == part.size() ? first : part.substr(dash + 1);
  if (!is_number(first) || !is_number(last)) {
    return std::nullopt;
  }
  return std::pair<Index, Index>{std::stoll(first), std::stoll(last)};
}

// Positions of a list like "3", "5-6" or "2,last", for `length` tokens; none for other text.
std::optional<std::vector<Index>> listed_positions(const std::string& text, Index length) {
  std::vector<Index> positions;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto range = position_range(part, length);
    if (!range) {
      return std::nullopt;
    }
    require(range->first <= range->second && range->second < length,
            "expected positions from 0 to ", length - 1, ", got ", part);
    for (Index position = range->first; position <= range->second; ++position) {
      positions.push_back(position);
    }
  }
  return positions;
}

// Offset and length of a text in `bytes`. A number after "#" selects one of several occurrences.
std::pair<std::size_t, std::size_t> span_of(const std::string& wanted, const std::string& bytes) {
  const std::size_t sign = wanted.rfind('#');
  const bool is_numbered = sign != wanted.npos && sign > 0 && is_number(wanted.substr(sign + 1));
  const std::string text = is_numbered ? wanted.substr(0, sign) : wanted;
  std::vector<std::size_t> found;
  for (std::size_t at = bytes.find(text); at != bytes.npos; at = bytes.find(text, at + 1)) {
    found.push_back(at);
  }
  require(!found.empty(), "expected words of the clean text, or positions of tokens, got '", text,
          "'");
  require(is_numbered || found.size() == 1, "'", text, "' appears ", found.size(),
          " times in the clean text; choose one, e.g. '", text, "#1'");
  const std::size_t number = is_numbered ? std::stoul(wanted.substr(sign + 1)) : 1;
  require(number >= 1 && number <= found.size(), "expected '", text, "#1' to #", found.size(),
          ", got #", number);
  return {found[number - 1], text.size()};
}

// Tokens that a text covers wholly or in part.
std::vector<Index> covering_tokens(const std::string& wanted, const std::vector<std::int32_t>& ids,
                                   const Tokenizer& tokenizer) {
  std::string bytes;
  std::vector<std::size_t> ends;  // end of each token in `bytes`
  for (const std::int32_t id : ids) {
    bytes += tokenizer.token_bytes(id);
    ends.push_back(bytes.size());
  }
  const auto [begin, length] = span_of(wanted, bytes);
  std::vector<Index> positions;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t start = i == 0 ? 0 : ends[i - 1];
    if (ends[i] > begin && start < begin + length) {
      positions.push_back(static_cast<Index>(i));
    }
  }
  return positions;
}

TokenGroup group_of(const std::string& name, const std::string& what, const PatchingTask& task,
                    const Tokenizer& tokenizer) {
  require(!name.empty() && !what.empty(), "expected NAME=TEXT or NAME=POSITIONS, got '", name, "=",
          what, "'");
  const auto positions = listed_positions(what, std::ssize(task.clean));
  return {name, positions ? *positions : covering_tokens(what, task.clean, tokenizer)};
}

TokenGroup group_of(const std::string& name, const Json& what, const PatchingTask& task,
                    const Tokenizer& tokenizer) {
  if (what.is_string()) {
    return group_of(name, what.text(), task, tokenizer);
  }
  const Json list = what.is_array() ? what : Json::array({what});
  TokenGroup group{name, {}};
  for (const Json& position : list) {
    require(position.is_integer(), "expected a text, a position or a list of positions, got a ",
            position.type_name());
    group.positions.push_back(position.integer());
  }
  return group;
}

// Adds a group, or replaces the group with its name.
void add_group(std::vector<TokenGroup>& groups, TokenGroup group) {
  const auto same = std::ranges::find(groups, group.name, &TokenGroup::name);
  if (same == groups.end()) {
    groups.push_back(std::move(group));
  } else {
    *same = std::move(group);
  }
}

void add_groups(const std::vector<std::string>& groups, PatchingTask& task,
                const Tokenizer& tokenizer) {
  for (const std::string& text : groups) {
    const std::size_t sign = text.find('=');
    in_place("--group: ", [&] {
      require(sign != text.npos, "expected NAME=TEXT or NAME=POSITIONS, got '", text, "'");
      add_group(task.groups,
                group_of(text.substr(0, sign), text.substr(sign + 1), task, tokenizer));
    });
  }
}

// Adds the groups of --group, then the groups of a line of --pairs, which replace equal names.
void add_groups_of_line(const Json& line, const std::vector<std::string>& groups_of_all,
                        PatchingTask& task, const Tokenizer& tokenizer) {
  add_groups(groups_of_all, task, tokenizer);
  const Json* groups = line.find("groups");
  if (groups == nullptr) {
    return;
  }
  require(groups->is_object(), "key \"groups\": expected an object, got a ", groups->type_name());
  for (const JsonMember& group : groups->members()) {
    in_place("key \"groups\": \"" + group.key + "\": ",
             [&] { add_group(task.groups, group_of(group.key, group.value, task, tokenizer)); });
  }
}

PatchingTask pair_of(const Json& line, const LoadedModel& loaded, const std::string& where) {
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const auto text = [&](const char* key) {
    const Json* value = line.find(key);
    require(value != nullptr && value->is_string(), "key \"", key, "\": expected a text");
    return value->text();
  };
  const auto answer = [&](const char* key) {
    return tokens_of(text(key), concat_text("key \"", key, "\""), tokenizer, where);
  };
  PatchingTask task{.clean = tokenizer.encode_prompt(text("clean")),
                    .corrupt = tokenizer.encode_prompt(text("corrupt")),
                    .answer = answer("answer"),
                    .wrong = answer("wrong")};
  set_mask(task, *loaded.model, tokenizer);
  return task;
}

std::vector<std::string> groups_option(const Options& options) {
  return options.has("group") ? options.texts("group") : std::vector<std::string>{};
}

std::string joined_labels(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += label_of_id(id, tokenizer);
  }
  return text;
}

// Metric of --metric, where a command has it.
MetricKind metric_option(const Options& options) {
  return options.has("metric") ? options.chosen<MetricKind>("metric")
                               : MetricKind::logit_difference;
}

void set_metrics(const Options& options, const LoadedModel& loaded,
                 std::vector<PatchingTask>& tasks) {
  const MetricKind kind = metric_option(options);
  for (PatchingTask& task : tasks) {
    in_place("--metric: ", [&] { set_metric(task, kind, *loaded.model); });
  }
}

bool has_several(const std::vector<PatchingTask>& tasks) {
  return std::ranges::any_of(tasks, [](const PatchingTask& task) {
    return task.answer.size() > 1 || task.wrong.size() > 1;
  });
}

}  // namespace

void add_pair_options(Options& options) {
  options.value("clean", "Clean text, which --answer follows")
      .value("corrupt", "Corrupt text of the same number of tokens, which --wrong follows")
      .value("answer", "Right answer, after --clean (default: the most probable token)")
      .value("wrong", "Wrong answer, after --corrupt (default: the most probable token)")
      .value("pairs",
             "Read pairs from this JSON Lines file (fields clean, corrupt, answer, wrong) instead "
             "of the options of those names");
  add_special_tokens_option(options);
  options.paths({"pairs"}).basic({"clean", "corrupt", "answer", "wrong", "pairs"});
}

void add_metric_option(Options& options) {
  options.choice("metric",
                 "Measure the difference of the answers, or of --answer its probability, "
                 "log_probability or loss, or the divergence from the clean text's prediction (kl)",
                 kChoiceNames<MetricKind>, "logit_difference");
}

bool has_own_metric(const std::vector<PatchingTask>& tasks) {
  return static_cast<bool>(tasks.front().metric);
}

void add_group_option(Options& options, const std::string& with) {
  options.values("group", with +
                              ": NAME=TEXT, NAME=TEXT#2 (its second occurrence) or "
                              "NAME=POSITIONS (3, 5-6, last), of the clean text");
}

PatchingTask task_option(const Options& options, const LoadedModel& loaded) {
  const MetricKind metric = metric_option(options);
  check_answers(metric, options.given("answer"), options.given("wrong"));
  for (const char* name : {"clean", "corrupt"}) {
    require(options.given(name), "--", name, ": expected a text (or use --pairs)");
  }
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const auto answer = [&](const std::string& name) {
    warn_about_special_names({options.text(name)}, tokenizer, "--" + name);
    return options.given(name) ? tokens_of(options.text(name), "--" + name, tokenizer)
                               : std::vector<std::int32_t>();
  };
  PatchingTask task{.clean = block_tokens(options, "clean", loaded),
                    .corrupt = block_tokens(options, "corrupt", loaded),
                    .answer = answer("answer"),
                    .wrong = answer("wrong")};
  complete_task(task, metric, *loaded.model, tokenizer);
  add_groups(groups_option(options), task, tokenizer);
  return task;
}

std::vector<PatchingTask> read_pairs(const Options& options, const LoadedModel& loaded,
                                     bool with_groups) {
  const std::filesystem::path path = options.text("pairs");
  const std::vector<std::string> groups = groups_option(options);
  std::vector<PatchingTask> pairs;
  std::vector<std::string> texts;  // texts of all pairs
  constexpr const char* kExample =
      "{\"clean\": \"...\", \"corrupt\": \"...\", \"answer\": \" key\", \"wrong\": \" hat\"}";
  read_records({.path = path}, kExample, [&](const Json& json, const std::string& where) {
    in_place(where + ": ", [&] {
      pairs.push_back(pair_of(json, loaded, where + ": "));
      if (with_groups) {
        add_groups_of_line(json, groups, pairs.back(), *loaded.tokenizer);
      }
    });
    for (const char* key : {"clean", "corrupt", "answer", "wrong"}) {
      texts.push_back(json.find(key)->text());
    }
  });
  require(!pairs.empty(), shown(path), ": expected JSON Lines such as ", kExample);
  warn_about_special_names(texts, *loaded.tokenizer, shown(path));
  return pairs;
}

std::vector<PatchingTask> pair_options(const Options& options, const LoadedModel& loaded,
                                       bool with_groups) {
  if (!options.given("pairs")) {
    return {task_option(options, loaded)};
  }
  refuse_options(options, {"clean", "corrupt", "answer", "wrong"},
                 "cannot be combined with --pairs");
  std::vector<PatchingTask> tasks = read_pairs(options, loaded, with_groups);
  set_metrics(options, loaded, tasks);
  return tasks;
}

std::string answer_label(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer) {
  return display_label(joined_labels(answer, tokenizer));
}

Json answer_json(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer) {
  if (answer.size() == 1) {
    Json json = token_json(answer.front(), tokenizer);
    json["ids"] = answer;
    return json;
  }
  return {{"ids", answer}, {"token", joined_labels(answer, tokenizer)}};
}

std::string measured_differences(const Options& options, const std::vector<PatchingTask>& tasks,
                                 const TaskMeans& means, const Tokenizer& tokenizer) {
  const bool is_one = tasks.size() == 1;
  const auto name = [&](const std::vector<std::int32_t>& answer, const char* fallback) {
    return is_one ? "'" + answer_label(answer, tokenizer) + "'" : fallback;
  };
  const std::string values = concat_text(": clean ", signed_number(means.clean, 3), ", corrupt ",
                                         signed_number(means.corrupt, 3));
  const std::string count = is_one ? "" : concat_text(" (means of ", tasks.size(), " pairs");
  if (has_own_metric(tasks)) {
    const auto kind = options.chosen<MetricKind>("metric");
    return (kind == MetricKind::kl
                ? "KL divergence from the clean text's prediction, in nats"
                : std::string(metric_noun(kind)) + " of " + name(tasks[0].answer, "the answer")) +
           values + count + (is_one ? "" : ")");
  }
  return concat_text(has_several(tasks) ? "log-probability" : "logit", " of ",
                     name(tasks[0].answer, "the answer"), " minus that of ",
                     name(tasks[0].wrong, "the wrong one"), values, count,
                     is_one ? "" : concat_text("; the model does ", means.pairs_done, " clearly)"));
}

std::string metric_name(const Options& options, const std::vector<PatchingTask>& tasks) {
  return has_own_metric(tasks) ? std::string(name_of(options.chosen<MetricKind>("metric")))
         : has_several(tasks)  ? "log_probability_difference"
                               : "logit_difference";
}

}  // namespace headlight::cli
