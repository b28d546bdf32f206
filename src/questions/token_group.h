#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/interpret/effects/patching.h"

namespace headlight {

// Returns the group of a value: a text of the clean text such as "Mary" or "Mary#2" (its second
// occurrence), or positions: "3", "5-6", "2,last", 3 or [4, 5]. Throws Error without a name.
TokenGroup read_token_group(const std::string& name, const Json& value, const PatchingTask& task,
                            const Tokenizer& tokenizer);

// Adds a group, or replaces the group with its name.
void add_group(std::vector<TokenGroup>& groups, TokenGroup group);

}  // namespace headlight
