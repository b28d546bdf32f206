#include "show/report/parts/terminal_text.h"
#include "support/test.h"

TEST_CASE("a progress line is cut to the terminal width and keeps its first part longest") {
  const std::vector<std::string> parts{"50% 3/6", "loss 2.3", "ETA 5 s"};
  CHECK(progress_line(0.5, parts, 80) == "│████████████            │ 50% 3/6  loss 2.3  ETA 5 s");
  CHECK(progress_line(0.5, parts, 40) == "│█████     │ 50% 3/6  loss 2.3  ETA 5 s");
  CHECK(progress_line(0.5, parts, 37) == "│████████        │ 50% 3/6  loss 2.3");
  CHECK(progress_line(0.5, parts, 28) == "│████████▌        │ 50% 3/6");
  CHECK(progress_line(0.5, parts, 19) == "│████    │ 50% 3/6");
  CHECK(progress_line(0.5, parts, 18) == "50% 3/6");
  CHECK(progress_line(0.5, parts, 6) == "50% …");
  for (Index columns = 2; columns < 100; ++columns) {
    INFO(columns);
    CHECK(display_width(progress_line(0.37, parts, columns)) < static_cast<std::size_t>(columns));
  }
  CHECK(progress_line(2, {"100%"}, 16) == "│████████│ 100%");
}
