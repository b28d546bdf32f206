#include "show/attention_samples.h"
#include "support/test.h"

// Returns [H, T, D] of different numbers, the largest about 3.
Tensor vectors(Index heads, Index tokens, Index width, double step) {
  const auto values = counted<float>(heads * tokens * width, [&](Index i) {
    return static_cast<float>(3.0 * std::sin(static_cast<double>(i) * step));
  });
  return Tensor::from(values, {heads, tokens, width});
}

double decoded_number(const json& embedded, std::size_t i) {
  const std::vector<unsigned> bytes = decoded_bytes(embedded["code"]);
  const auto integer = static_cast<std::int16_t>(bytes.at(2 * i) | bytes.at(2 * i + 1) << 8);
  return embedded["scale"].get<double>() * integer;
}

TEST_CASE("A page above the size limit stores the square roots of weights in 8 bits") {
  const std::vector<float> weights = plausible_weights(2, 40, true);
  const AttentionMaps maps = one_layer(numbered_tokens(40), 0, {0, 1}, weights);
  // 2 heads of 820 weights: 2 x 2188 characters in 16 bits.
  const std::string exact = attention_html({maps}, {.exact_characters = 4376});
  REQUIRE(embedded_page(exact)["bits"] == 16);
  const std::string coarse = attention_html({maps}, {.exact_characters = 4375});
  REQUIRE(embedded_page(coarse)["bits"] == 8);
  const std::vector<unsigned> bytes =
      decoded_bytes(embedded_data(coarse)["layers"][0]["weights"][1]);
  REQUIRE(bytes.size() == 820);
  std::size_t next = 0;
  for (std::size_t query = 0; query < 40; ++query) {
    for (std::size_t key = 0; key <= query; ++key) {
      const double weight = static_cast<double>(weights[1600 + query * 40 + key]);
      const double root = bytes[next++] / 255.0;
      REQUIRE(std::abs(root * root - weight) <= std::sqrt(weight) / 255.0 + 1.0 / 260100.0 + 1e-9);
    }
  }
}

TEST_CASE("The page holds every document and marks the one shown beside the first") {
  AttentionMaps first = one_layer({"a", "b"}, 0, {0}, {1, 0, 0.5F, 0.5F});
  AttentionMaps second = one_layer({"c"}, 3, {2}, {1});
  second.title = "other <model>";
  const std::string page =
      attention_html({first, second}, {.view = AttentionView::grid, .beside = 1});
  REQUIRE(embedded_page(page)["documents"].size() == 2);
  REQUIRE(embedded_page(page)["beside"] == 1);
  REQUIRE(embedded_page(page)["view"] == "grid");
  REQUIRE(embedded_data(page, 1)["tokens"] == json({"c"}));
  REQUIRE(embedded_data(page, 1)["layers"][0]["layer"] == 3);
  REQUIRE(embedded_data(page, 1)["title"] == "other <model>");
  REQUIRE(contains(page, "<h1>model and other &lt;model&gt;</h1>"));
  REQUIRE(embedded_page(attention_html(first))["beside"] == -1);
  REQUIRE(embedded_page(attention_html(first))["view"] == "model");
}

TEST_CASE("The page shows the classes of heads as text") {
  AttentionMaps maps = one_layer({"a"}, 4, {1}, {1});
  maps.scores[{4, 1}] = {"previous </script>", 0.97};
  const std::string page = attention_html(maps);
  REQUIRE(occurrences(page, "previous </script>") == 0);
  REQUIRE(embedded_data(page)["scores"]["4.1"][0] == "previous </script>");
  REQUIRE(embedded_data(page)["scores"]["4.1"][1] == 0.97);
}

TEST_CASE("Queries and keys are stored to a precision of 1/65534 of their largest number") {
  AttentionMaps maps = one_layer({"a", "b"}, 0, {0, 1}, plausible_weights(2, 2, true));
  maps.layers[0].queries = vectors(2, 2, 3, 1.1);
  maps.layers[0].keys = vectors(2, 2, 3, 0.7);
  const json layer = embedded_data(attention_html(maps))["layers"][0];
  REQUIRE(layer["width"] == 3);
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t i = 0; i < 6; ++i) {
      const double angle = static_cast<double>(6 * head + i);
      const json& pair = layer["vectors"][head];
      REQUIRE(std::abs(decoded_number(pair["queries"], i) - 3.0 * std::sin(1.1 * angle)) < 5e-5);
      REQUIRE(std::abs(decoded_number(pair["keys"], i) - 3.0 * std::sin(0.7 * angle)) < 5e-5);
    }
  }
  maps.layers[0].keys = Tensor::zeros({2, 2, 3});
  REQUIRE(decoded_number(embedded_data(attention_html(maps))["layers"][0]["vectors"][1]["keys"],
                         5) == 0.0);
}

TEST_CASE("The page refuses queries and keys whose shape differs from their layer's") {
  AttentionMaps maps = one_layer({"a", "b"}, 7, {0, 1}, plausible_weights(2, 2, true));
  const std::string expected =
      "[attention_html] queries and keys of layer 7: expected both float32 [2, 2, D]";
  maps.layers[0].queries = vectors(2, 2, 3, 1.0);
  REQUIRE(error_of([&] { attention_html(maps); }) == expected);
  maps.layers[0].keys = vectors(2, 2, 4, 1.0);
  REQUIRE(error_of([&] { attention_html(maps); }) == expected);
  maps.layers[0].keys = vectors(2, 3, 3, 1.0);
  REQUIRE(error_of([&] { attention_html(maps); }) == expected);
  maps.layers[0].keys = Tensor::full({2, 2, 3}, std::numeric_limits<double>::infinity());
  REQUIRE(error_of([&] { attention_html(maps); }) ==
          "[attention_html] queries and keys of layer 7 contain values that are not finite");
}

TEST_CASE("The page refuses unknown views and unknown documents to compare") {
  REQUIRE(parse_name<AttentionView>("view", "neuron") == AttentionView::neuron);
  REQUIRE(error_of([] { parse_name<AttentionView>("view", "list"); }) ==
          "view: expected model, head, neuron or grid, got 'list'");
  const AttentionMaps maps = one_layer({"a"}, 0, {0}, {1});
  REQUIRE(error_of([&] { attention_html({maps}, {.beside = 1}); }) ==
          "[attention_html] beside: expected a document from 0 to 0 or -1 for none, got 1");
  REQUIRE(error_of([] { attention_html(std::vector<AttentionMaps>{}); }) ==
          "[attention_html] expected at least one document, got none");
}
