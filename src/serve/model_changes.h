#pragma once

#include <map>
#include <memory>
#include <vector>

#include "headlight/heads/interventions.h"
#include "headlight/io/model_directory.h"
#include "serve/request_texts.h"

namespace headlight::serve {

// Changes of what a model computes, as a body asks for them.
struct ModelChanges {
  std::vector<Change> changes = {};
  std::map<HeadId, HeadScore> classes = {};  // of heads, for changes of classes
  Index work = 0;                            // tokens times passes of hook_for()
  bool special_tokens = false;               // names of special tokens in texts are the tokens

  // Computes what they need from their texts, with what is attached to the model. Null: there are
  // none. Throws Error as Interventions does.
  std::shared_ptr<ForwardHook> hook_for(const LoadedModel& loaded) const;
};

// Reads a text of changes, "off 0.1; mean mlp.2 from \"a text\"", in a member `name`, and
// `classes`, {"1.0": "induction"}, as /api/scores told. Throws Error about the member that does not
// fit: also for files, which requests cannot name, and for more than is answered soon.
ModelChanges read_model_changes(RequestTexts& texts, const std::string& name = "intervene");

}  // namespace headlight::serve
