#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "headlight/serve/server.h"
#include "serve/compute.h"
#include "serve/fields.h"

namespace headlight::serve {

// Told the share that is done, from 0 to 1.
using Pause = std::function<void(double share)>;

// One of the questions of the page: what a model does with a text. They are answered by the
// computing thread.
struct Inspection {
  std::string_view path;
  // Returns JSON. Calls pause() every now and then, with the model as it was before: others compute
  // with it meanwhile. Throws Error about a member that does not fit, and what pause() throws.
  std::string (*run)(const ServedModel& model, Fields& fields, const Pause& pause);
  Urgency urgency = Urgency::live;
};

// Null: there is none at that path.
const Inspection* find_inspection(std::string_view path);

}  // namespace headlight::serve
