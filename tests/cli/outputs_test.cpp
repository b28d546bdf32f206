#include "support/test.h"

TEST_CASE("the documentation quotes the output of info for the toy preset") {
  const std::string source = HEADLIGHT_SOURCE_DIR;
  const std::string page = file_contents(source + "/docs/train.md");
  std::size_t compared = 0;
  for (const std::string& line :
       lines_of(run_headlight({"info", source + "/configs/toy.toml"}).out)) {
    // The memory of a run depends on the number of threads of the machine.
    if (line.starts_with("computed with") || line.starts_with("several processes")) {
      break;
    }
    if (!line.starts_with("training run")) {
      CAPTURE(line);
      CHECK(contains(page, line + "\n"));
      ++compared;
    }
  }
  CHECK(compared >= 12);
}
