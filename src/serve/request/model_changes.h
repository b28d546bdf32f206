#pragma once

#include <map>
#include <memory>
#include <vector>

#include "headlight/formats/model_directory.h"
#include "headlight/interpret/interventions/interventions.h"
#include "serve/request/request_texts.h"

namespace headlight::serve {

// Model changes (interventions) of a request.
struct ModelChanges {
  std::vector<Change> changes = {};
  std::map<HeadId, HeadScore> classes = {};  // classes by head, for changes that name classes
  Index work = 0;                            // tokens times passes that hook_for() computes
  bool special_tokens = false;               // read special-token names in texts as tokens

  // Returns the hook for the changes, or null without changes. Runs their source texts through the
  // model with its attached hook. Throws Error as Interventions does.
  std::shared_ptr<ForwardHook> hook_for(const LoadedModel& loaded) const;
};

// Reads the member `name`, changes such as "off 0.1; mean mlp.2 from \"a text\"", and `classes` of
// /api/scores, {"1.0": "induction"}. Throws Error about an invalid member, a file in a change, and
// changes above the limits.
ModelChanges read_model_changes(RequestTexts& texts, const std::string& name = "intervene");

}  // namespace headlight::serve
