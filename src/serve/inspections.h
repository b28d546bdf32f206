#pragma once

#include <string>
#include <string_view>

#include "headlight/serve/server.h"
#include "serve/compute.h"
#include "serve/request_texts.h"
#include "serve/work.h"

namespace headlight::serve {

// One of the questions of the page: what a model does with a text. They are answered by the
// computing thread.
struct Inspection {
  std::string_view path;
  // Returns JSON. Throws Error about a member that does not fit and, before it computes anything,
  // for more work than it may have; and what giving way throws.
  std::string (*run)(const ServedModel& model, RequestTexts& texts, Work& work);
  Urgency urgency = Urgency::live;
};

// Null: there is none at that path.
const Inspection* find_inspection(std::string_view path);

}  // namespace headlight::serve
