#include "support/test.h"

const fs::path kRoot = HEADLIGHT_SOURCE_DIR;

std::string map_text() {
  std::ostringstream text;
  text << std::ifstream(kRoot / "src/README.md").rdbuf();
  return text.str();
}

// Returns the paths with a slash between backticks: `train/run`, `src/nn/gpt.cpp`.
std::vector<std::string> named_paths(const std::string& text) {
  static const std::regex kPath("`([a-z0-9_]+(?:/[a-z0-9_.]+)+)`");
  return matches_of(text, kPath);
}

// Returns true if `path` exists in the root, src or include/headlight, with or without its suffix.
bool exists(const std::string& path) {
  for (const char* folder : {"", "src/", "include/headlight/"}) {
    for (const char* suffix : {"", ".cpp", ".h"}) {
      if (fs::exists(kRoot / (folder + path + suffix))) {
        return true;
      }
    }
  }
  return false;
}

int lines_of(const fs::path& path) {
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    ++lines;
  }
  return lines;
}

TEST_CASE("everything that the map of the code names exists", "[structure]") {
  const std::vector<std::string> paths = named_paths(map_text());
  REQUIRE(paths.size() > 40);
  for (const std::string& path : paths) {
    INFO(path);
    CHECK(exists(path));
  }
}

TEST_CASE("the shortest path through the code is as long as the map says", "[structure]") {
  const std::string text = map_text();
  const int lines = sum_of<int>(named_paths(text.substr(text.find("## The shortest path"))),
                                [&](const std::string& path) { return lines_of(kRoot / path); });
  CHECK(lines > 3600 - 300);
  CHECK(lines < 3600 + 300);
}
