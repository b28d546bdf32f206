#pragma once

#include <memory>

#include "headlight/generate/grammar.h"
#include "serve/completions/tools_request.h"

namespace headlight::serve {

// Returns the grammar of an answer that is a call, after ToolStyle::begin. Throws Error about
// "tools" for parameters with a keyword of JSON schemas that grammars do not support.
std::shared_ptr<const Grammar> call_grammar(const ToolsRequest& request,
                                            const WorkBudget& budget = {});

}  // namespace headlight::serve
