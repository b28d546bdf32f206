#include "questions/task_parameters.h"

#include <algorithm>
#include <sstream>

#include "base/strings/display_text.h"
#include "base/strings/read_number.h"
#include "base/transformed.h"
#include "questions/token_group.h"
#include "show/report/parts/json_output.h"

namespace headlight {

const std::string kExamplePair =
    "--clean \"Mina could not find her red key. She looked under the table, but there was no red\" "
    "--corrupt \"Mina could not find her red hat. She looked under the table, but there was no "
    "red\" --answer \" key\" --wrong \" hat\"";

const char* const kTaskDetails =
    "The metric is log p(answer) - log p(wrong) after the text. For single tokens this is the "
    "difference of their logits. Answers of several tokens, which may differ in length, use "
    "the sum of the log-probabilities of their tokens, each after the text and the answer's "
    "earlier tokens. An answer is given as text, or as token ids: \"#42\" or \"#42 #7\". "
    "Without answer and wrong, these are the most probable next tokens of the two texts. "
    "The texts must have the same number of tokens. metric measures another number; shares "
    "are again 0 for the corrupt text and 1 for the clean one, and the model's strength in the "
    "task is not judged.";

namespace {

// Checks ids and the length of a text for one pass.
std::vector<std::int32_t> checked(std::vector<std::int32_t> ids, const Asker& asker,
                                  const std::string& about) {
  const Index block = asker.model.block_size();
  const Index vocab = std::min(asker.model.vocab_size(), asker.tokenizer.vocab_size());
  require_value(!ids.empty() && std::ssize(ids) <= block, about, "expected 1 to ", block,
                " tokens, the context length of the model, got ", ids.size());
  const auto [least, most] = std::minmax_element(ids.begin(), ids.end());
  require_value(*least >= 0 && *most < vocab, about, "expected ids from 0 to ", vocab - 1, ", got ",
                *least < 0 ? *least : *most);
  return ids;
}

std::vector<std::int32_t> ids_of(const Json& list, const std::string& about) {
  return transformed(list, [&](const Json& id) {
    require_value(std::in_range<std::int32_t>(id.integer()), about, "expected token ids, got ",
                  id.integer());
    return static_cast<std::int32_t>(id.integer());
  });
}

bool is_numbered(const std::string& text) { return text.size() > 1 && text[0] == '#'; }

// Ids of a text like "#42 #7".
std::vector<std::int32_t> numbered_ids(const std::string& text, const std::string& about) {
  std::vector<std::int32_t> ids;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto id = is_numbered(word) ? read_number<std::int32_t>(std::string_view(word).substr(1))
                                      : std::nullopt;
    require_value(id.has_value(), about, "expected token ids, e.g. #42 #7, got '", text, "'");
    ids.push_back(*id);
  }
  return ids;
}

// Ids of a text. Warns if it is a single token only after a blank: users forget it easily.
std::vector<std::int32_t> continuation_of(const Asker& asker, const std::string& text,
                                          const std::string& about, const std::string& where) {
  const std::vector<std::int32_t> ids = asker.encode(text, about);
  require_known(ids, text, asker.tokenizer, about);
  if (ids.size() > 1 && asker.tokenizer.encode(" " + text).size() == 1) {
    asker.warn(concat_text(where, about, ": '", text, "' is ", ids.size(),
                           " tokens; with a leading space, ' ", text, "', it is one"));
  }
  return ids;
}

// Ids of an answer; empty for null. `where`: its place, for warnings.
std::vector<std::int32_t> answer_of(const Asker& asker, const Json* value, const std::string& about,
                                    const std::string& where = {}) {
  if (value == nullptr || value->is_null()) {
    return {};
  }
  const Json& given = *value;
  const bool is_text = given.is_string() && !is_numbered(given.text());
  return checked(is_text              ? continuation_of(asker, given.text(), about, where)
                 : given.is_string()  ? numbered_ids(given.text(), about)
                 : given.is_integer() ? ids_of(Json::array({given}), about)
                                      : ids_of(given, about),
                 asker, about);
}

}  // namespace

std::vector<std::int32_t> read_prompt(const Asker& asker, const Json& value,
                                      const std::string& about) {
  if (value.is_array()) {
    return checked(ids_of(value, about), asker, about);
  }
  require_value(!value.text().empty(), about, "expected a text");
  return checked(asker.encode_prompt(value.text(), about), asker, about);
}

std::optional<std::int32_t> read_token(const Asker& asker, const Arguments& arguments,
                                       std::string_view name) {
  const std::string about(name);
  const Json& value = arguments.value(name);
  if (value.is_string() && !is_numbered(value.text())) {
    return only_token(asker.encode(value.text(), about), value.text(), asker.tokenizer, about);
  }
  return value.is_null() ? std::nullopt
                         : std::optional(only_id(answer_of(asker, &value, about), about));
}

std::vector<std::int32_t> read_answer(const Asker& asker, const Arguments& arguments,
                                      std::string_view name) {
  return answer_of(asker, &arguments.value(name), std::string(name));
}

std::int32_t only_id(const std::vector<std::int32_t>& answer, std::string_view about) {
  require_value(answer.size() == 1, about, "expected one token, got ", answer.size());
  return answer.front();
}

namespace {

void add_groups(const Arguments& arguments, const Asker& asker, PatchingTask& task) {
  for (const std::string& text : arguments.texts("group")) {
    const std::size_t sign = text.find('=');
    require_value(sign != text.npos, "group", "expected NAME=TEXT or NAME=POSITIONS, got '", text,
                  "'");
    try {
      add_group(task.groups, read_token_group(text.substr(0, sign), text.substr(sign + 1), task,
                                              asker.tokenizer));
    } catch (const Error& error) {
      fail_value("group", error.what());
    }
  }
}

// Adds the groups of a record, which replace equal names.
void add_groups_of(const Json& record, const Asker& asker, PatchingTask& task) {
  const Json* groups = record.find("groups");
  if (groups == nullptr) {
    return;
  }
  require_value(groups->is_object(), "groups", "expected an object, got a ", groups->type_name());
  for (const JsonMember& group : groups->members()) {
    in_place("groups: \"" + group.key + "\": ", [&] {
      add_group(task.groups, read_token_group(group.key, group.value, task, asker.tokenizer));
    });
  }
}

std::string place_of(const Asker& asker, std::size_t pair) {
  return asker.places.empty() ? concat_text("pairs: pair ", pair + 1) : asker.places[pair];
}

std::vector<std::int32_t> text_of_record(const Json& record, const Asker& asker, const char* key) {
  const Json* value = record.find(key);
  require_value(value != nullptr && (value->is_string() || value->is_array()), key,
                "expected a text");
  return read_prompt(asker, *value, key);
}

PatchingTask task_of_record(const Json& record, const Asker& asker, const std::string& where) {
  return {.clean = text_of_record(record, asker, "clean"),
          .corrupt = text_of_record(record, asker, "corrupt"),
          .answer = answer_of(asker, record.find("answer"), "answer", where),
          .wrong = answer_of(asker, record.find("wrong"), "wrong", where)};
}

PatchingTask single_task(const Asker& asker, const Arguments& arguments) {
  return {.clean = read_prompt(asker, arguments.value("clean"), "clean"),
          .corrupt = read_prompt(asker, arguments.value("corrupt"), "corrupt"),
          .answer = read_answer(asker, arguments, "answer"),
          .wrong = read_answer(asker, arguments, "wrong")};
}

// Adds the tokens that the arguments leave open, and the metric.
void complete(PatchingTask& task, const Asker& asker, MetricKind kind) {
  if (asker.metric) {
    set_mask(task, asker.model, asker.tokenizer);
    task.metric = asker.metric;
  } else {
    complete_task(task, kind, asker.model, asker.tokenizer, asker.kept);
  }
}

std::string joined_labels(const std::vector<std::int32_t>& ids, const Tokenizer& tokenizer) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += label_of_id(id, tokenizer);
  }
  return text;
}

bool has_several(const std::vector<PatchingTask>& tasks) {
  return std::ranges::any_of(tasks, [](const PatchingTask& task) {
    return task.answer.size() > 1 || task.wrong.size() > 1;
  });
}

}  // namespace

Index completing_tokens(const Asker& asker, const std::vector<PatchingTask>& tasks,
                        MetricKind kind) {
  Index tokens = 0;
  for (const PatchingTask& task : tasks) {
    const bool reads_again = kind == MetricKind::kl && asker.kept == nullptr;
    tokens += (task.answer.empty() ? 1 : 0) * std::ssize(task.clean) +
              (reads_again ? 1 : 0) * std::ssize(task.clean) +
              (task.wrong.empty() ? 1 : 0) * std::ssize(task.corrupt);
  }
  return tokens;
}

std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> read_text_pair(const Asker& asker,
                                                                               const Json& record,
                                                                               std::size_t i) {
  return in_place(place_of(asker, i) + ": ", [&] {
    return std::pair(text_of_record(record, asker, "clean"),
                     text_of_record(record, asker, "corrupt"));
  });
}

std::vector<Parameter> answer_parameters() {
  return {{.name = "answer",
           .help = "Right answer after the text (default: the most probable token)",
           .kind = ValueKind::answer,
           .excludes = {"pairs"},
           .is_basic = true,
           .former = {"token", "target"}},
          {.name = "wrong",
           .help = "Wrong answer, which is compared with the right one (default after a corrupt "
                   "text: the most probable token)",
           .kind = ValueKind::answer,
           .excludes = {"pairs"},
           .is_basic = true,
           .former = {"against"}}};
}

Parameter pairs_parameter() {
  return {.name = "pairs",
          .help = "Pairs of texts, with the fields clean, corrupt, answer and wrong",
          .kind = ValueKind::records,
          .is_basic = true,
          .example =
              "{\"clean\": \"...\", \"corrupt\": \"...\", \"answer\": \" key\", "
              "\"wrong\": \" hat\"}"};
}

std::vector<Parameter> task_parameters() {
  std::vector<Parameter> all{
      {.name = "clean",
       .help = "Clean text, which the right answer follows",
       .kind = ValueKind::prompt,
       .excludes = {"pairs"},
       .is_required = true,
       .unless = "pairs",
       .is_basic = true},
      {.name = "corrupt",
       .help = "Corrupt text of the same number of tokens, which the wrong answer follows",
       .kind = ValueKind::prompt,
       .excludes = {"pairs"},
       .is_required = true,
       .unless = "pairs",
       .is_basic = true}};
  for (Parameter& parameter : answer_parameters()) {
    all.push_back(std::move(parameter));
  }
  all.push_back(pairs_parameter());
  all.push_back(metric_parameter(MetricKind::logit_difference));
  return all;
}

Parameter metric_parameter(MetricKind fallback) {
  std::vector<std::string_view> choices = choices_of<MetricKind>();
  if (fallback == MetricKind::loss) {
    std::erase(choices, name_of(MetricKind::logit_difference));
  }
  return {.name = "metric",
          .help =
              "Number that is measured: of the right answer, or in texts of each token to "
              "predict, its logit_difference to the wrong one, probability, log_probability or "
              "loss, or the divergence (kl) from the prediction after the clean text, or of "
              "the whole model",
          .kind = ValueKind::metric,
          .fallback = name_of(fallback),
          .choices = std::move(choices)};
}

Parameter group_parameter(std::vector<std::string_view> needs) {
  return {.name = "group",
          .help =
              "Group of tokens of the clean text: NAME=TEXT, NAME=TEXT#2 (its second "
              "occurrence) or NAME=POSITIONS (3, 5-6, last)",
          .kind = ValueKind::texts,
          .needs = std::move(needs)};
}

std::vector<PatchingTask> read_tasks(const Asker& asker, const Arguments& arguments,
                                     const TaskCost& cost, bool with_groups) {
  const auto kind = arguments.has("metric") ? arguments.chosen<MetricKind>("metric")
                                            : MetricKind::logit_difference;
  check_answers(kind, arguments.given("answer"), arguments.given("wrong"));
  const bool are_pairs = arguments.given("pairs");
  const Json& records = arguments.value("pairs");
  const auto for_each_record = [&](const auto& function) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      in_place(place_of(asker, i) + ": ", [&] { function(i, records[i]); });
    }
  };
  std::vector<PatchingTask> tasks;
  if (are_pairs) {
    for_each_record([&](std::size_t i, const Json& record) {
      tasks.push_back(task_of_record(record, asker, place_of(asker, i) + ": "));
    });
    require_value(!tasks.empty(), "pairs", "expected at least one pair of texts");
  } else {
    tasks.push_back(single_task(asker, arguments));
  }
  asker.begin(cost(tasks) + completing_tokens(asker, tasks, kind));
  const auto finish = [&](std::size_t i, const Json& record) {
    complete(tasks[i], asker, kind);
    if (with_groups) {
      add_groups(arguments, asker, tasks[i]);
      add_groups_of(record, asker, tasks[i]);
    }
  };
  if (are_pairs) {
    for_each_record(finish);
  } else {
    finish(0, {});
  }
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

Json TaskReport::facts() const {
  return {{"metric", metric_name()},
          {"pairs", tasks.size()},
          {"pairs_done", has_own_metric() ? Json() : Json(means.pairs_done)},
          {"clean_difference", means.clean},
          {"corrupt_difference", means.corrupt}};
}

std::string TaskReport::pairs_caution() const {
  return is_mostly_done() ? ""
                          : concat_text("caution: the model does this task clearly in ",
                                        means.pairs_done, " of ", tasks.size(), " pairs");
}

std::string TaskReport::metric_name() const {
  return asker.metric         ? "function"
         : has_own_metric()   ? arguments.text("metric")
         : has_several(tasks) ? "log_probability_difference"
                              : "logit_difference";
}

std::string TaskReport::differences_text() const {
  const auto name = [&](const std::vector<std::int32_t>& answer, const char* fallback) {
    return is_one() ? "'" + answer_label(answer, asker.tokenizer) + "'" : fallback;
  };
  const std::string values = concat_text(": clean ", signed_number(means.clean, 3), ", corrupt ",
                                         signed_number(means.corrupt, 3));
  const std::string count = is_one() ? "" : concat_text(" (means of ", tasks.size(), " pairs");
  if (asker.metric) {
    return "metric" + values + count + (is_one() ? "" : ")");
  }
  if (has_own_metric()) {
    const auto kind = arguments.chosen<MetricKind>("metric");
    return (kind == MetricKind::kl
                ? "KL divergence from the clean text's prediction, in nats"
                : std::string(metric_noun(kind)) + " of " + name(tasks[0].answer, "the answer")) +
           values + count + (is_one() ? "" : ")");
  }
  return concat_text(
      has_several(tasks) ? "log-probability" : "logit", " of ", name(tasks[0].answer, "the answer"),
      " minus that of ", name(tasks[0].wrong, "the wrong one"), values, count,
      is_one() ? "" : concat_text("; the model does ", means.pairs_done, " clearly)"));
}

}  // namespace headlight
