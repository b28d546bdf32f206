#pragma once

#include <cstdint>
#include <vector>

#include "headlight/heads/effects/patching.h"
#include "python/model/model.h"

// Texts and answers of tasks as arguments.
namespace headlight::python {

// Returns the ids of one text of a task; an answer is a continuation, without prompt tokens. Throws
// Error about `about`, as read_inputs(), and for several texts.
std::vector<std::int32_t> task_ids(const Model& model, nb::handle value, const char* about,
                                   bool is_answer);

// Returns the id of a text of one token, or an id itself.
std::int32_t one_token(const Model& model, nb::handle value, const char* about);

// Returns a pair of texts with answers. Throws Error about the argument.
PatchingTask patching_task(const Model& model, nb::handle clean, nb::handle corrupt,
                           nb::handle answer, nb::handle wrong);

}  // namespace headlight::python
