#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headlight/base/index.h"

namespace headlight::serve {

// One step of a presentation.
struct StoryStep {
  std::string title;
  std::string address;  // query and fragment of the page: "?part=heads&text=...#grid/0.3"
  std::string text;
};

// A presentation of a page of one file (docs/page.md).
struct Story {
  std::string title = {};
  std::string language = {};  // "en" or "ko"; empty: that of the page
  std::vector<StoryStep> steps = {};

  bool empty() const { return steps.empty(); }
};

// Parts of the page that can be opened, and the size of its model.
struct StoryScope {
  std::span<const std::string> views;
  Index layers = 0;
  Index heads = 0;  // of a layer
};

// Reads a story from Markdown. Throws Error "FILE:LINE: ..." for a line out of place, an address
// that the page would not understand, and heads that the model lacks.
Story read_story(const std::filesystem::path& path, const StoryScope& scope);

}  // namespace headlight::serve
