#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "headlight/serve/server.h"
#include "serve/compute.h"
#include "serve/request/request_texts.h"
#include "serve/text_scores.h"
#include "serve/work.h"

namespace headlight::serve {

class InspectionRequest;

// Analysis of a text at /api, run by the computing thread.
struct Inspection {
  std::string path;
  std::function<std::string(InspectionRequest& question)> answer;
  Urgency urgency = Urgency::live;

  // Returns JSON. Throws Error about an invalid member and, before any computation, about too much
  // work. Passes on exceptions of Work::yield_to_urgent().
  std::string run(const ServedModel& model, RequestTexts& texts, Work& work, TextRuns& runs) const;
};

// Returns the inspection at a path, or null.
const Inspection* find_inspection(std::string_view path);

}  // namespace headlight::serve
