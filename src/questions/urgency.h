#pragma once

namespace headlight {

// Priority of work for a request, the most urgent first. More urgent work runs between its slices.
enum class Urgency {
  live,        // follows a text while somebody types
  requested,   // somebody waits for the result
  background,  // nobody waits for the result
};

}  // namespace headlight
