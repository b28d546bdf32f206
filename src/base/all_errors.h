#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headlight/base/error.h"

namespace headlight {

// Calls `use` with each item, also after an Error, so that a user sees all bad items at once.
// Throws the only Error unchanged; several become one: "3 of 20 files cannot be used: ...; ...;
// ...", with the first ten messages. `items_name` is "files".
template <class Items, class Use>
void use_each(const Items& items, const char* items_name, const Use& use) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> messages;
  for (const auto& item : items) {
    try {
      use(item);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      if (items.size() == 1) {
        throw;
      }
      messages.emplace_back(error.what());
    }
  }
  if (messages.empty()) {
    return;
  }
  std::string all;
  for (std::size_t i = 0; i < std::min(kShown, messages.size()); ++i) {
    all += (i > 0 ? "; " : "") + messages[i];
  }
  if (messages.size() > kShown) {
    all += concat_text("; and ", messages.size() - kShown, " more");
  }
  require(messages.size() > 1, all);
  fail(messages.size(), " of ", items.size(), " ", items_name, " cannot be used: ", all);
}

}  // namespace headlight
