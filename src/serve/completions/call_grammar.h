#pragma once

#include <memory>

#include "headlight/generate/grammar.h"
#include "serve/completions/tools_request.h"

namespace headlight::serve {

// Returns the grammar of an answer that is a call, after ToolStyle::begin; or without `must_call`
// of one that begins a call or is a JSON value of `schema`. Throws Error about "tools" for a
// keyword of JSON schemas that grammars do not support.
std::shared_ptr<const Grammar> call_grammar(const ToolsRequest& request, const Json& schema = {},
                                            const WorkBudget& budget = {});

}  // namespace headlight::serve
