#include "base/strings/display_text.h"
#include "headlight/show/attention/attention_text.h"
#include "show/attention/layer_weights.h"
#include "show/attention_samples.h"
#include "show/plot/colour_scale.h"
#include "show/plot/svg.h"
#include "support/test.h"

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
      const double step = luma(map_colour(after, ground)) - luma(map_colour(before, ground));
      INFO("step " << i << " changes luma by " << step);
      REQUIRE((ground == Background::light ? -step : step) > 2.5);
      REQUIRE(std::abs(step) < 12.0);
      const Colour colour = map_colour(after, ground);
      REQUIRE(colour.blue > colour.green);
      REQUIRE(colour.green > colour.red);
    }
  }
  REQUIRE(needs_white_text(map_colour(1.0, Background::light)));
  REQUIRE_FALSE(needs_white_text(map_colour(0.0, Background::light)));
  REQUIRE(needs_white_text(map_colour(0.0, Background::dark)));
  REQUIRE_FALSE(needs_white_text(map_colour(1.0, Background::dark)));
}

TEST_CASE("Colour maps of other programs interpolate between their colours") {
  struct Case {
    ColourMap map;
    Background ground;
    double strength;
    const char* digits;
  };
  // Ends and points of matplotlib's maps; 0.03125 is halfway between two points of 17.
  for (const Case& one : {Case{ColourMap::viridis, Background::light, 0, "440154"},
                          Case{ColourMap::viridis, Background::dark, 1, "fde725"},
                          Case{ColourMap::viridis, Background::light, 0.03125, "460d5f"},
                          Case{ColourMap::magma, Background::light, 0.5, "b73779"},
                          Case{ColourMap::blues, Background::light, 1, "08306b"},
                          Case{ColourMap::blues, Background::dark, 1, "f7fbff"},
                          Case{ColourMap::greys, Background::light, 2, "000000"}}) {
    INFO(name_of(one.map) << " " << one.strength);
    CHECK(hex_digits(map_colour(one.strength, one.ground, one.map)) == one.digits);
  }
  for (const Choice<ColourMap>& map : kChoices<ColourMap>) {
    CHECK(hex_digits(map_colour(0, Background::light, map.value)) !=
          hex_digits(map_colour(1, Background::light, map.value)));
  }
}

TEST_CASE("Terminals show the nearest of their 240 colours") {
  CHECK(terminal_colour({0, 0, 0}) == 16);
  CHECK(terminal_colour({255, 255, 255}) == 231);
  CHECK(terminal_colour({95, 135, 255}) == 69);
  CHECK(terminal_colour({17, 18, 19}) == 233);
}

TEST_CASE("Number formats are those of matplotlib") {
  CHECK(NumberFormat{}.text(0.256) == "0.26");
  CHECK(parse_number_format("x", ".0%").text(0.256) == "26%");
  CHECK(parse_number_format("x", ".3f").text(0.25) == "0.250");
  for (const char* text : {"", "2f", ".5f", ".2e", ".12f", ".2f "}) {
    CHECK_THROWS_WITH(parse_number_format("x", text), contains_text("expected .0f"));
  }
}

TEST_CASE("Labels of words omit the blanks before them") {
  AttentionMaps maps = one_layer({" a", "b ", " "}, 0, {0}, std::vector<float>(9, 1.0F / 3));
  CHECK(cell_labels(maps) == std::vector<std::string>{"·a", "b·", "·"});
  maps.unit = TextUnit::word;
  CHECK(cell_labels(maps) == std::vector<std::string>{"a", "b·", "·"});
}

TEST_CASE("Figures follow language and number format and colours") {
  AttentionMaps maps = one_layer({"a", "b"}, 3, {1}, {1, 0, 0.25F, 0.75F});
  maps.unit = TextUnit::word;
  const std::string svg = attention_svg(maps, maps.layers[0],
                                        {.colours = ColourMap::viridis,
                                         .numbers = {.decimals = 1, .percent = true},
                                         .language = Language::korean});
  check_parts(svg, {"75.0%", "3층 · 헤드 1", "쿼리", "단어 2개", "#440154", "#fde725"});
  CHECK(contains(attention_svg(maps, maps.layers[0]), "1 head, 2 words"));
  const std::string text = attention_text(
      maps, maps.layers[0], 0,
      {.colours = true, .style = {.colours = ColourMap::greys, .language = Language::korean}});
  check_parts(text, {"헤드 3.1", "48;5;231;38;5;16m100"});  // greys turn on a dark ground
  const std::string numbers = attention_text(maps, maps.layers[0], 0, {.own_numbers = true});
  CHECK(contains(numbers, "0.25 0.75"));
  const std::string page =
      attention_html({maps}, {.style = {.numbers = {.decimals = 3}, .language = Language::korean}});
  check_parts(page, {"<html lang=\"ko\">", "\"decimals\":3", "단어 2개의 어텐션"});
}
