#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/effects/patching.h"

// Pairs of texts for `headlight patch` and `circuit`.
namespace headlight::cli {

// Options of one pair, for examples.
extern const std::string kExamplePair;
// Format of answers and groups, for --help.
extern const char* const kTaskDetails;

// Adds --clean, --corrupt, --answer, --wrong and --special_tokens. Also adds --pairs, a file of
// JSON Lines with these keys.
void add_pair_options(Options& options);
// Adds --group; `with` names the options that it requires.
void add_group_option(Options& options, const std::string& with);
// Adds --metric. task_option() and pair_options() set it.
void add_metric_option(Options& options);
// Returns whether the tasks have another metric than the difference of the answers, for which
// strength and cautions have no meaning.
bool has_own_metric(const std::vector<PatchingTask>& tasks);

// Returns the single pair. Missing answers default to the likeliest next token.
PatchingTask task_option(const Options& options, const LoadedModel& loaded);
// Reads --pairs. `with_groups`: each line gets the groups of --group that it does not define;
// otherwise "groups" is not read. Throws Error with file and line.
std::vector<PatchingTask> read_pairs(const Options& options, const LoadedModel& loaded,
                                     bool with_groups);
// Returns the single pair, or the pairs of --pairs. Throws Error with file and line.
std::vector<PatchingTask> pair_options(const Options& options, const LoadedModel& loaded,
                                       bool with_groups = false);

// Tokens of an answer as one text for display.
std::string answer_label(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer);
// JSON object {ids, token}, and id for a single token.
Json answer_json(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer);
// Mean metrics of the pairs.
struct TaskMeans {
  double clean = 0;
  double corrupt = 0;
  Index pairs_done = 0;  // pairs that the model does clearly
};
// Returns "logit of 'a' ...: clean +3.1, corrupt -2.0". Several pairs: means, with the number of
// pairs that the model does clearly.
std::string measured_differences(const Options& options, const std::vector<PatchingTask>& tasks,
                                 const TaskMeans& means, const Tokenizer& tokenizer);
// Metric name in JSON: "logit_difference", "log_probability_difference" (answers of several tokens)
// or that of --metric.
std::string metric_name(const Options& options, const std::vector<PatchingTask>& tasks);

}  // namespace headlight::cli
