#pragma once

#include <functional>
#include <string>
#include <vector>

namespace headlight {

// Returns a GBNF expression for the keys of a JSON object, in quotes, other than `names`. The keys
// contain no escapes, so that no other spelling of a name is possible. `add_rule` adds a rule with
// the given body and returns its name.
std::string other_keys(const std::vector<std::string>& names,
                       const std::function<std::string(const std::string& body)>& add_rule);

}  // namespace headlight
