#pragma once

#include <cstdint>
#include <vector>

#include "headlight/interpret/effects/patching.h"
#include "python/model/model.h"

// Texts and answers of tasks as arguments.
namespace headlight::python {

// Returns the ids of one text of a task; an answer is a continuation, without prompt tokens. Throws
// Error about `about`, as read_inputs(), and for several texts.
std::vector<std::int32_t> task_ids(const Model& model, nb::handle value, const char* about,
                                   bool is_answer);

// Returns the id of a text of one token, or an id itself.
std::int32_t one_token(const Model& model, nb::handle value, const char* about);

// Two texts with answers, and the metric: a name of MetricKind, a Metric or a function. Without an
// answer, it is the most likely token.
struct TaskArguments {
  nb::object clean;
  nb::object corrupt;
  nb::object answer;
  nb::object wrong;
  nb::object metric;
  bool is_alone = true;  // false: one of several pairs, whose answers a metric may leave unused
};

// Returns the task of a call. Throws Error about the argument.
PatchingTask patching_task(Model& model, const TaskArguments& arguments);

// Returns the tasks of a list of tuples (clean, corrupt, answer, wrong), of two to four texts.
std::vector<PatchingTask> patching_tasks(Model& model, const nb::sequence& pairs,
                                         const nb::object& metric);

}  // namespace headlight::python
