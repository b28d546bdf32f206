#include "headlight/views/text/coloured_text.h"

#include <limits>

#include "support/tensors.h"

namespace coloured_text_test {

using namespace headlight;
using namespace headlight::test;

TEST_CASE("tokens are coloured by their values over one scale for all texts", "[views]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string page = coloured_text_html(
      {.title = "a < b",
       .note = "note",
       .texts = {{.label = "neuron 0.1", .tokens = {"One", " day"}, .values = {2, -1}, .marked = 1},
                 {.tokens = {"x\n", "<b>"}, .values = {0, none}}}});
  CHECK(has_parts(page, {"<h1>a &lt; b</h1>", "note", "neuron 0.1", "title=\"One: 2\"",
                         "background:#005ab5;color:#fff\">One",  // blue of the largest value
                         "class=\"m\" title=\"·day: -1\"", "x⏎\n", "&lt;b&gt;: —"}));
  CHECK(page.find("<b>") == page.npos);
  CHECK(page.find("<script") == page.npos);
  // Half of the limit towards orange: (255 + 220) / 2 and so on.
  CHECK(has_parts(page, {"background:#eeb082\"> day"}));
}

TEST_CASE("a text needs a value for each token", "[views]") {
  CHECK(has_parts(error_of([] { coloured_text_html({}); }), {"at least one text"}));
  CHECK(has_parts(error_of([] {
                    coloured_text_html({.texts = {{.tokens = {"a", "b"}, .values = {1}}}});
                  }),
                  {"values: expected 2 numbers", "got 1"}));
}

}  // namespace coloured_text_test
