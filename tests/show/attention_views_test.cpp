#include "show/attention_samples.h"
#include "show/plot/colour_scale.h"
#include "support/test.h"

TEST_CASE("The figure has one named panel per head") {
  const AttentionMaps maps = one_layer({"a", "b"}, 2, {0, 3, 7}, plausible_weights(3, 2, true));
  const std::string svg = svg_of(maps);
  REQUIRE(occurrences(svg, "class=\"head\"") == 3);
  for (const std::string head : {"0", "3", "7"}) {
    check_parts(svg, {"data-head=\"2." + head + "\"", ">Layer 2 · Head " + head + "</text>"});
  }
  REQUIRE(occurrences(svg, ">Query</text>") == 3);
  REQUIRE(occurrences(svg, ">Key</text>") == 3);
  REQUIRE(contains(svg, ">model · Layer 2</text>"));
}

TEST_CASE("The figure of a small map prints every weight of the past and leaves the future blank") {
  const AttentionMaps maps =
      one_layer({"a", "b", "c"}, 0, {0}, {1, 0, 0, 0.3F, 0.7F, 0, 0.12F, 0, 0.88F});
  const std::string svg = svg_of(maps);
  REQUIRE(occurrences(svg, "class=\"value\"") == 6);
  for (const std::string value : {"1.00", "0.30", "0.70", "0.12", "0.00", "0.88"}) {
    INFO(value);
    REQUIRE(occurrences(svg, ">" + value + "</text>") == 1);
  }
  // The outline of the cells is a staircase: row q ends at column q + 1.
  REQUIRE(contains(svg, "d=\"M0 0h1v1h1v1h1v1H0z\""));
}

TEST_CASE("The figure of a map with weights on later tokens shows them") {
  const AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {0.5F, 0.5F, 0.25F, 0.75F});
  const std::string svg = svg_of(maps);
  REQUIRE(occurrences(svg, "class=\"value\"") == 4);
  REQUIRE(contains(svg, "d=\"M0 0h2v2H0z\""));
}

TEST_CASE("Neighbouring cells of one colour are one run of a path in that colour") {
  const AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0.5F, 0.5F});
  const std::string svg = svg_of(maps);
  const std::string darkest = hex_digits(map_colour(1.0, Background::light));
  // A weight of 0.5 has level 16 of 0 ... 31.
  const std::string middle = hex_digits(map_colour(16.0 / 31.0, Background::light));
  check_parts(svg, {"<path stroke=\"#" + darkest + "\" d=\"M0 0h1\"/>",
                    "<path stroke=\"#" + middle + "\" d=\"M0 1h2\"/>"});
}

TEST_CASE("Beyond twelve tokens the figure uses a square-root scale and says so") {
  const std::string small = svg_of(one_layer(numbered_tokens(12), 0, {0},  //
                                             plausible_weights(1, 12, true)));
  const std::string large = svg_of(one_layer(numbered_tokens(13), 0, {0},  //
                                             plausible_weights(1, 13, true)));
  REQUIRE(occurrences(small, "square-root scale") == 0);
  REQUIRE(occurrences(large, "square-root scale") == 1);
  REQUIRE(occurrences(small, "class=\"value\"") == 12 * 13 / 2);
  REQUIRE(occurrences(large, "class=\"value\"") == 0);
}

TEST_CASE("The figure of a long text has position ticks and stays small") {
  const AttentionMaps maps =
      one_layer(numbered_tokens(256), 0, {0, 1}, plausible_weights(2, 256, true));
  const std::string svg = svg_of(maps);
  REQUIRE(occurrences(svg, ">t5</text>") == 0);
  REQUIRE(occurrences(svg, ">250</text>") == 4);
  REQUIRE(svg.size() < 500000);
}

TEST_CASE("The figure of a very long text shows the largest weight of every block") {
  std::vector<float> weights(600 * 600, 0.0F);
  for (std::size_t query = 0; query < 600; ++query) {
    weights[query * 600] = 1.0F;
  }
  weights[200 * 600] = 0.0F;
  weights[200 * 600 + 100] = 1.0F;
  const std::string svg = svg_of(one_layer(numbered_tokens(600), 0, {0}, weights));
  REQUIRE(contains(svg, "; each cell the maximum of 3 × 3<"));
  // Row 66 holds queries 198 to 200, column 33 holds key 100.
  REQUIRE(contains(svg, "M0 66h1m32 0h1M0 67h1"));
}

TEST_CASE("The figure escapes labels and makes blanks visible") {
  const AttentionMaps maps = one_layer({kHostile, " a\n", "\t", "한국"}, 0, {0},  //
                                       plausible_weights(1, 4, true));
  const std::string svg = svg_of(maps);
  REQUIRE(occurrences(svg, "<img") == 0);
  REQUIRE(occurrences(svg, "</script") == 0);
  REQUIRE(occurrences(svg, ">&lt;/script&gt;&lt;im") == 2);
  REQUIRE(occurrences(svg, ">·a⏎</text>") == 2);
  REQUIRE(occurrences(svg, ">⇥</text>") == 2);
  REQUIRE(occurrences(svg, ">한국</text>") == 2);
}

TEST_CASE("Neither view loads anything from a web address") {
  const AttentionMaps maps =
      one_layer(numbered_tokens(5), 0, {0, 1}, plausible_weights(2, 5, true));
  std::string svg = svg_of(maps);
  const std::string name_space = "http://www.w3.org/2000/svg";
  svg.erase(svg.find(name_space), name_space.size());
  const std::string page = attention_html(maps);
  for (const std::string part : {"http://", "https://", "src=", "href", "@import", "url("}) {
    INFO(part);
    REQUIRE(occurrences(svg, part) == 0);
    REQUIRE(occurrences(page, part) == 0);
  }
  REQUIRE(contains(page, "default-src 'none'"));
}

TEST_CASE("The page stores weights to a precision of half of 1/65535") {
  const bool causal = GENERATE(true, false);
  const Index count = GENERATE(1, 2, 7);
  const std::vector<float> weights = plausible_weights(2, count, causal);
  const AttentionMaps maps = one_layer(numbered_tokens(count), 4, {1, 5}, weights);
  const json data = embedded_data(attention_html(maps));
  const bool triangle = causal || count == 1;
  REQUIRE(data["causal"] == triangle);
  REQUIRE(data["layers"][0]["layer"] == 4);
  REQUIRE(data["layers"][0]["heads"] == json({1, 5}));
  std::size_t at = 0;
  for (std::size_t h = 0; h < 2; ++h) {
    const std::vector<double> decoded = decode(data["layers"][0]["weights"][h]);
    std::size_t next = 0;
    for (Index query = 0; query < count; ++query) {
      for (Index key = 0; key < count; ++key, ++at) {
        if (!triangle || key <= query) {
          REQUIRE(std::abs(decoded.at(next++) - weights[at]) <= 0.5 / 65535.0 + 1e-12);
        }
      }
    }
    REQUIRE(next == decoded.size());
  }
}

TEST_CASE("If one head attends to later tokens the whole page stores full rows") {
  AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0.5F, 0.5F});
  maps.layers.push_back(one_layer({"a", "b"}, 1, {0}, {0.5F, 0.5F, 0, 1}).layers.front());
  const json data = embedded_data(attention_html(maps));
  REQUIRE(data["causal"] == false);
  const std::vector<double> decoded = decode(data["layers"][0]["weights"][0]);
  REQUIRE(decoded.size() == 4);
  REQUIRE(decoded[1] == 0.0);
  REQUIRE(decoded[3] == Approx(0.5).margin(1e-5));
}

TEST_CASE("Hostile tokens and titles stay text in the page") {
  AttentionMaps maps = one_layer({kHostile, "<!--<script>", "\xFF\x80", "a\nb"}, 0, {0},
                                 plausible_weights(1, 4, true));
  maps.title = "</title><script>alert(1)</script>";
  const std::string page = attention_html(maps);
  // Only the texts, the data and the module, no script from a token.
  REQUIRE(occurrences(page, "<script") == 3);
  REQUIRE(occurrences(page, "</script") == 3);
  REQUIRE(occurrences(page, "<img") == 0);
  REQUIRE(occurrences(page, "<!--") == 0);
  REQUIRE(occurrences(page, "&lt;/title&gt;&lt;script&gt;alert(1)") == 2);
  const json data = embedded_data(page);
  REQUIRE(data["tokens"][0] == kHostile);
  REQUIRE(data["tokens"][1] == "<!--<script>");
  REQUIRE(data["tokens"][2] == "\uFFFD\uFFFD");
  check_json(data, R"({"tokens/3": "a\nb", "labels/3": "a⏎b"})");
}

TEST_CASE("Both views show a single token of a single head") {
  const AttentionMaps maps = one_layer({"a"}, 0, {0}, {1});
  const std::string svg = svg_of(maps);
  REQUIRE(occurrences(svg, ">1.00</text>") == 1);
  REQUIRE(contains(svg, "1 head, 1 token<"));
  const std::string page = attention_html(maps);
  REQUIRE(contains(page, "Attention of 1 head in 1 layer over 1 token<"));
  REQUIRE(decode(embedded_data(page)["layers"][0]["weights"][0]) == std::vector<double>{1.0});
}

TEST_CASE("Both views read weights through any strides") {
  const std::vector<float> transposed = {1, 0.3F, 0, 0.7F};
  AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, transposed);
  Tensor& weights = maps.layers.front().weights;
  weights = weights.strided_view({1, 2, 2}, {4, 1, 2});
  REQUIRE(occurrences(svg_of(maps), ">0.30</text>") == 1);
  const std::vector<double> decoded =
      decode(embedded_data(attention_html(maps))["layers"][0]["weights"][0]);
  REQUIRE(decoded.size() == 3);
  REQUIRE(decoded[1] == Approx(0.3).margin(1e-5));
}

TEST_CASE("Both views refuse maps of mismatched sizes") {
  const AttentionMaps good = one_layer({"a", "b"}, 3, {0, 1}, plausible_weights(2, 2, true));
  struct Case {
    std::function<void(AttentionMaps&)> damage;
    const char* message;
  };
  for (const Case& one : std::vector<Case>{
           {[](auto& maps) { maps.tokens.clear(); }, "expected at least one token"},
           {[](auto& maps) { maps.tokens.push_back("c"); },
            "layer 3: expected float32 [2, 3, 3], got float32 [2, 2, 2]"},
           {[](auto& maps) { maps.layers[0].heads = {0}; }, "expected float32 [1, 2, 2]"},
           {[](auto& maps) { maps.layers[0].heads = {}; }, "expected at least one head in layer 3"},
           {[](auto& maps) {
              maps.layers[0].heads = {1, 1};
            },
            "must be different numbers"},
           {[](auto& maps) {
              maps.layers[0].heads = {0, -1};
            },
            "must be different numbers from 0"},
           {[](auto& maps) { maps.layers[0].layer = -2; },
            "expected a layer number from 0, got -2"},
           {[](auto& maps) { maps.layers[0].weights = Tensor(); }, "layer 3 has no weights"},
           {[](auto& maps) {
              maps.layers[0].weights = Tensor::zeros({2, 2, 2}, DType::float64);
            },
            "got float64 [2, 2, 2]"}}) {
    AttentionMaps maps = good;
    one.damage(maps);
    expect_both_throw(maps, one.message);
  }
}

TEST_CASE("Both views refuse weights that are not probabilities") {
  const float bad = GENERATE(std::numeric_limits<float>::quiet_NaN(), -0.5F, 1.5F,
                             std::numeric_limits<float>::infinity());
  const AttentionMaps maps = one_layer({"a", "b"}, 3, {8}, {1, 0, bad, 0.5F});
  expect_both_throw(maps, "weight of head 3.8 from query 1 to key 0: expected a number in [0, 1]");
}

TEST_CASE("The page refuses maps without layers and repeated layers") {
  AttentionMaps maps = one_layer({"a"}, 3, {0}, {1});
  maps.layers.push_back(maps.layers.front());
  REQUIRE(error_of([&] { attention_html(maps); }) == "[attention_html] layer 3 comes twice");
  maps.layers.clear();
  REQUIRE(error_of([&] { attention_html(maps); }) ==
          "[attention_html] expected at least one layer, got none");
}

TEST_CASE("The page refuses more weights than a browser can hold") {
  // One layer that looks ahead makes all 25 heads store 2048 x 2048 weights of 8 bits: 140 million
  // characters. A causal page would store half of them.
  AttentionMaps maps;
  maps.tokens = numbered_tokens(2048);
  const Tensor first_only = Tensor::zeros({1, 2048, 2048});
  first_only.strided_view({2048}, {2048}).fill(1.0);
  for (Index layer = 0; layer < 24; ++layer) {
    maps.layers.push_back({layer, {0}, first_only});
  }
  maps.layers.push_back({24, {0}, Tensor::full({1, 2048, 2048}, 1.0 / 2048.0)});
  REQUIRE(error_of([&] { attention_html(maps); }) ==
          "[attention_html] 25 heads over 2048 tokens: expected at most 128 MiB of weights in the "
          "page, got 133");
}

TEST_CASE("an attention figure outside a model names no layer and shows its whole title") {
  AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0.5, 0.5});
  maps.title = "A title that is much longer than the panel of two tokens below it, but still whole";
  const auto figure = [&](const AttentionStyle& options) {
    return attention_svg(maps, maps.layers.front(), options);
  };
  const std::string plain = figure({.names_layer = false, .names_heads = false});
  CHECK(occurrences(plain, ">" + maps.title + "<") == 2);  // also in <title>
  CHECK(occurrences(plain, "Layer") + occurrences(plain, "Head") == 0);
  CHECK(occurrences(plain, ">2 tokens<") == 1);
  CHECK(occurrences(figure({}), maps.title + "<") == 0);
  const std::string korean = figure({.language = Language::korean, .names_layer = false});
  for (const char* text :
       {">헤드 0<", ">헤드 1개, 토큰 2개<", ">쿼리<", ">키<", ">어텐션 가중치<"}) {
    INFO(text);
    CHECK(occurrences(korean, text) == 1);
  }
}

TEST_CASE("the legend of value-weighted maps names what they show") {
  AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0.5, 0.25});
  maps.value_weighted = true;
  CHECK(occurrences(svg_of(maps), ">Weight times value norm<") == 1);
  CHECK(occurrences(svg_of(maps), ">Attention weight<") == 0);
  CHECK(occurrences(attention_html({maps}), "\"value_weighted\":true") == 1);
}

TEST_CASE("a long title of a figure ends before the legend") {
  AttentionMaps maps = one_layer({"a", "b"}, 0, {0}, {1, 0, 0.5, 0.5});
  maps.title = "A model whose name WWW MMMM is long · value-weighted";
  const std::string svg = svg_of(maps);
  const std::size_t begin = svg.find("font-weight=\"600\"");
  const std::size_t text = svg.find('>', begin) + 1;
  const std::string title = svg.substr(text, svg.find('<', text) - text);
  CHECK(title.ends_with("… · Layer 0"));
  // A bold letter of DejaVu Sans is 0.69 of the font size wide on average; the legend begins at
  // 346.
  CHECK(24 + 18 * 0.69 * static_cast<double>(title.size() - 3) < 346);
}
