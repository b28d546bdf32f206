#include <cmath>

#include "base/display_text.h"
#include "support/catch.h"
#include "views/plot/colour_scale.h"
#include "views/plot/svg.h"

namespace attention_labels_test {

using namespace headlight;

TEST_CASE("Labels make invisible characters of tokens visible") {
  REQUIRE(display_label(" the") == "·the");
  REQUIRE(display_label("\r\n") == "␍⏎");
  REQUIRE(display_label("") == "∅");
  REQUIRE(display_label("\xE2\x80\xAE"
                        "abc") == "U+202Eabc");
  REQUIRE(display_label("\xE2\x80\x8D") == "U+200D");
  REQUIRE(display_label("👩\xE2\x80\x8D🔬") == "👩\xE2\x80\x8D🔬");
  REQUIRE(display_label("\xEA\xB0") == "\uFFFD");
  REQUIRE(display_label("\xEF\xBF\xBF") == "\uFFFD");
  REQUIRE(display_label("\x1B[2J\t") == "␛[2J⇥");
  REQUIRE(token_text(" a\n") == " a\n");
  REQUIRE(token_text(std::string_view("\0", 1)) == "␀");
}

TEST_CASE("Shortened labels keep whole characters and fit their width") {
  REQUIRE(shorten_text("한국어", 3.0) == "한국어");
  REQUIRE(shorten_text("한국어로", 3.0) == "한국…");
  REQUIRE(text_width("한국어") == 3.0);
  REQUIRE(text_width("、。🙂") == 3.0);
  REQUIRE(shorten_text("abc", 0.0) == "…");
}

TEST_CASE("Attention colours change lightness evenly") {
  // Luma approximates lightness. It must fall on a light background and rise on a dark one.
  const auto luma = [](Colour c) { return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue; };
  for (int i = 1; i < 32; ++i) {
    const double before = (i - 1) / 31.0;
    const double after = i / 31.0;
    for (const Background ground : {Background::light, Background::dark}) {
      const double step =
          luma(attention_colour(after, ground)) - luma(attention_colour(before, ground));
      INFO("step " << i << " changes luma by " << step);
      REQUIRE((ground == Background::light ? -step : step) > 2.5);
      REQUIRE(std::abs(step) < 12.0);
      const Colour colour = attention_colour(after, ground);
      REQUIRE(colour.blue > colour.green);
      REQUIRE(colour.green > colour.red);
    }
  }
  REQUIRE(needs_white_text(attention_colour(1.0, Background::light)));
  REQUIRE_FALSE(needs_white_text(attention_colour(0.0, Background::light)));
  REQUIRE(needs_white_text(attention_colour(0.0, Background::dark)));
  REQUIRE_FALSE(needs_white_text(attention_colour(1.0, Background::dark)));
}

}  // namespace attention_labels_test
