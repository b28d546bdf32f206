#pragma once

#include <vector>

#include "headlight/interpret/effects/patching.h"

namespace headlight {

// Throws Error about "group" when there is no group, one is empty, two have the same name, or a
// position is not in a text of `length` tokens.
void check_groups(const std::vector<TokenGroup>& groups, Index length);

// Returns the groups in the order of `like`, the groups of text 1. Throws Error about "pairs",
// naming text `number`, if its groups have other names.
std::vector<TokenGroup> in_order(const std::vector<TokenGroup>& groups,
                                 const std::vector<TokenGroup>& like, std::size_t number);

}  // namespace headlight
