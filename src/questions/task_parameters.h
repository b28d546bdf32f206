#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/interpret/effects/patching.h"
#include "questions/question.h"

// Parameters of a task: two texts that differ in one fact, with the right answer to each, or a list
// of such pairs; and the metric that separates the texts.
namespace headlight {

// Returns clean, corrupt, answer, wrong, pairs and metric.
std::vector<Parameter> task_parameters();
std::vector<Parameter> answer_parameters();  // answer and wrong
Parameter pairs_parameter();
// Returns "metric"; with the fallback loss, for texts without a wrong answer.
Parameter metric_parameter(MetricKind fallback);
// Returns the parameter of groups of tokens, which a task may have; `needs`: see Parameter.
Parameter group_parameter(std::vector<std::string_view> needs = {});
// Options of one pair, for examples.
extern const std::string kExamplePair;
// Paragraph of the help.
extern const char* const kTaskDetails;

// Returns the cost of the tasks' question, in tokens times passes.
using TaskCost = std::function<Index(const std::vector<PatchingTask>& tasks)>;

// Returns the tokens of the passes that complete_task() makes.
Index completing_tokens(const Asker& asker, const std::vector<PatchingTask>& tasks,
                        MetricKind kind);

// Returns the tasks of the arguments, complete with answers and metric, after calling
// asker.begin(). `with_groups`: each has the groups of "group" that its record does not define.
// Throws Error about a parameter, with the place of a record.
std::vector<PatchingTask> read_tasks(const Asker& asker, const Arguments& arguments,
                                     const TaskCost& cost, bool with_groups = false);

// Returns the texts clean and corrupt of record `i` of "pairs". Throws Error with its place.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> read_text_pair(const Asker& asker,
                                                                               const Json& record,
                                                                               std::size_t i);

// Returns the ids of a text or of a list of ids, which fit into one pass.
std::vector<std::int32_t> read_prompt(const Asker& asker, const Json& value,
                                      const std::string& about);
// Returns the token of a parameter of kind `answer`. Throws Error for several tokens.
std::optional<std::int32_t> read_token(const Asker& asker, const Arguments& arguments,
                                       std::string_view name);
// Returns the tokens of a parameter of kind `answer`; none if it is missing.
std::vector<std::int32_t> read_answer(const Asker& asker, const Arguments& arguments,
                                      std::string_view name);
// Returns the only id of an answer.
std::int32_t only_id(const std::vector<std::int32_t>& answer, std::string_view about);

// Mean metrics of tasks after their texts.
struct TaskMeans {
  double clean = 0;
  double corrupt = 0;
  Index pairs_done = 0;  // pairs that the model does clearly
};

// The tasks of a question, for its result.
struct TaskReport {
  const Asker& asker;
  const Arguments& arguments;
  const std::vector<PatchingTask>& tasks;
  TaskMeans means;

  bool is_one() const { return tasks.size() == 1; }
  // Returns whether the metric is another than the difference of the answers, by which alone the
  // strength of the model in the task is judged.
  bool has_own_metric() const { return static_cast<bool>(tasks.front().metric); }
  // Returns metric, pairs, pairs_done, clean_difference and corrupt_difference.
  Json facts() const;
  // Returns whether the model does at least half of the pairs, or is judged by a metric of its own.
  bool is_mostly_done() const {
    return has_own_metric() || 2 * means.pairs_done >= std::ssize(tasks);
  }
  std::string pairs_caution() const;  // "": none
  // Returns "logit_difference", "log_probability_difference" (answers of several tokens) or the
  // name of the metric.
  std::string metric_name() const;
  // Returns "logit of 'a' ...: clean +3.1, corrupt -2.0", for several pairs the means.
  std::string differences_text() const;
};

// Returns the tokens of an answer as one label.
std::string answer_label(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer);
// Returns an object {ids, token}, and id for a single token.
Json answer_json(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer);

}  // namespace headlight
