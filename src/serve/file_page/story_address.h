#pragma once

#include <map>
#include <string>
#include <string_view>

#include "serve/file_page/story.h"

namespace headlight::serve {

// An address of the page in its parts.
struct StoryAddress {
  std::map<std::string, std::string> entries = {};  // of the query, without percent codes
  std::string fragment = {};                        // with its '#', or empty
};

// Reads "?name=value&...#fragment" and checks it as src/show/page/live/session.js and
// src/show/page/address.js read it. Throws Error about a name, value or head that does not exist.
StoryAddress read_story_address(std::string_view text, const StoryScope& scope);

// Returns the query and fragment with percent codes.
std::string address_text(const StoryAddress& address);

}  // namespace headlight::serve
