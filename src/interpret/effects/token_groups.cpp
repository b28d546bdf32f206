#include "interpret/effects/token_groups.h"

#include <algorithm>
#include <string>

#include "headlight/base/error.h"

namespace headlight {
namespace {

std::string names_of(const std::vector<TokenGroup>& groups) {
  std::string text;
  for (const TokenGroup& group : groups) {
    text += (text.empty() ? "" : ", ") + group.name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

void check_groups(const std::vector<TokenGroup>& groups, Index length) {
  require_value(!groups.empty(), "group", "expected groups of tokens, got none");
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    require_value(!group->positions.empty(), "group", "expected positions of '", group->name,
                  "', got none");
    for (const Index position : group->positions) {
      require_value(position >= 0 && position < length, "group", "expected positions of '",
                    group->name, "' from 0 to ", length - 1, ", got ", position);
    }
    const bool is_new = std::none_of(
        groups.begin(), group, [&](const TokenGroup& other) { return other.name == group->name; });
    require_value(is_new, "group", "expected names that differ, got '", group->name, "' twice");
  }
}

std::vector<TokenGroup> in_order(const std::vector<TokenGroup>& groups,
                                 const std::vector<TokenGroup>& like, std::size_t number) {
  std::vector<TokenGroup> ordered;
  for (const TokenGroup& wanted : like) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const TokenGroup& group) {
      return group.name == wanted.name;
    });
    require_value(found != groups.end() && groups.size() == like.size(), "pairs",
                  "expected the groups of pair 1, ", names_of(like), ", got ", names_of(groups),
                  " in pair ", number);
    ordered.push_back(*found);
  }
  return ordered;
}

}  // namespace headlight
