#include "support/saved_model.h"
#include "support/test.h"

TEST_CASE("the tables of lens fit a terminal of 80 columns") {
  const SavedModel given;
  std::istringstream lines(
      output_of({"lens", given.model, "--text", "a text that is longer than it"}));
  std::size_t blocks = 0;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(terminal_width(line) <= 80);
    blocks += line.rfind("layer", 0) == 0 ? 1 : 0;
  }
  CHECK(blocks > 2);
}
