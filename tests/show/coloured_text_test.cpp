#include "headlight/show/text/coloured_text.h"
#include "support/test.h"

TEST_CASE("tokens are coloured by their values over one scale for all texts") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string page = coloured_text_html(
      {.title = "a < b",
       .note = "note",
       .texts = {{.label = "neuron 0.1", .tokens = {"One", " day"}, .values = {2, -1}, .marked = 1},
                 {.tokens = {"x\n", "<b>"}, .values = {0, none}}}});
  CHECK(has_parts(page, {"<h1>a &lt; b</h1>", "note", "neuron 0.1", "title=\"One: 2\"",
                         "background:#005ab5;color:#fff\">One",  // blue of the largest value
                         "class=\"m\" title=\"·day: -1\"", "x⏎\n", "&lt;b&gt;: —"}));
  check_lacks(page, {"<b>", "<script"});
  // Half of the limit towards orange: (255 + 220) / 2 and so on.
  CHECK(has_parts(page, {"background:#eeb082\"> day"}));
}

TEST_CASE("a text needs a value for each token") {
  CHECK(has_parts(error_of([] { coloured_text_html({}); }), {"at least one text"}));
  CHECK(has_parts(error_of([] {
                    coloured_text_html({.texts = {{.tokens = {"a", "b"}, .values = {1}}}});
                  }),
                  {"values: expected 2 numbers", "got 1"}));
}

TEST_CASE("tokens of one character are joined with the value furthest from 0") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TokenCell> cells{{0, 1, "a"}, {1, 4, "말"}, {4, 6, "했"}};
  const ColouredText whole =
      merged_text({.label = "neuron",
                   .tokens = {" a", "<0xEB>", "<0xA7>", "<0x90>", "<0xED><0x96>", "<0x88>"},
                   .values = {1, 2, none, -3, none, none},
                   .marked = 3},
                  cells);
  CHECK(whole.label == "neuron");
  CHECK(whole.tokens == std::vector<std::string>{" a", "말", "했"});
  CHECK(whole.values[0] == 1);
  CHECK(whole.values[1] == -3);
  CHECK(std::isnan(whole.values[2]));
  CHECK(whole.marked == 1);
  CHECK(has_parts(error_of([&] { merged_text({.tokens = {"a"}, .values = {1}}, cells); }),
                  {"cells", "1 tokens", "got 6"}));
}
