#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/heads/patching.h"
#include "headlight/io/model_directory.h"

// The pairs of texts of `headlight patch` and `circuit`.
namespace headlight::cli {

// How answers and groups are written, for --help.
extern const char* const kTaskDetails;

// --clean, --corrupt, --answer, --wrong, and --pairs in their place, JSON lines with these keys;
// and --special_tokens.
void add_pair_options(Options& options);
// --group, for commands that go by groups; `with`: the options beside which it is used.
void add_group_option(Options& options, const std::string& with);
// The one pair of texts; answers that are not given are the likeliest token.
PatchingTask task_option(const Options& options, const LoadedModel& loaded);
// The pairs of --pairs. With groups each line adds those of --group that it does not name itself;
// without, "groups" is not read. Throws Error naming file and line.
std::vector<PatchingTask> read_pairs(const Options& options, const LoadedModel& loaded,
                                     bool with_groups);
// The pair, or those of the file. Throws Error naming file and line.
std::vector<PatchingTask> pair_options(const Options& options, const LoadedModel& loaded,
                                       bool with_groups = false);

// The tokens of an answer as one text for display.
std::string answer_label(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer);
// {ids, token}, and id where it is a single one.
Json answer_json(const std::vector<std::int32_t>& answer, const Tokenizer& tokenizer);
// "logit of 'a' less that of 'b'", or the log-probability where one of them has several tokens; of
// several pairs "the answer" and "the wrong one".
std::string measured_name(const std::vector<PatchingTask>& tasks, const Tokenizer& tokenizer);
// For JSON: "logit_difference", or "log_probability_difference".
std::string metric_name(const std::vector<PatchingTask>& tasks);

}  // namespace headlight::cli
