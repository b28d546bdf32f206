#include "show/report/parts/terminal_text.h"
#include "support/test.h"

TEST_CASE("a terminal of any width gets lines that fit it, and colours unless refused") {
  const TemporaryFolder folder;
  const std::string text = folder.write("text.txt", "one two three four five six seven eight nine");
  const auto shown = [&](int columns, const Arguments& environment) {
    const ProgramResult result = run_headlight_on_terminal(
        columns,
        words("train --data", text, "--out_dir", folder.at(std::to_string(columns)),
              "--tokenizer byte --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --batch_size 1 "
              "--max_iters 3 --eval_iters 1 --warmup_iters 9"),
        environment);
    INFO(result.err);
    CHECK(result.exit_code == 0);
    return result.err;
  };
  const std::string yellow = "\x1b[33m";
  const std::string drawn = shown(40, {});
  const std::size_t last = drawn.rfind("100% 3/3");
  REQUIRE(last != std::string::npos);
  const std::size_t begin = drawn.rfind("\x1b[K", last) + 3;
  const std::string line = drawn.substr(begin, drawn.find('\r', begin) - begin);
  CHECK(display_width(line) < 40);
  CHECK(contains(line, "loss "));
  CHECK_FALSE(contains(line, "norm "));
  CHECK(contains(drawn, yellow));
  const std::string plain = shown(80, {"NO_COLOR=1"});
  CHECK(contains(plain, "warning: warmup_iters 9 is not below"));
  CHECK_FALSE(contains(plain, yellow));
}
