#include "headlight/show/attention/bertviz_json.h"
#include "show/attention_samples.h"
#include "support/test.h"

TEST_CASE("BertViz gets weights by layer, head, query and key with the tokens on both sides") {
  AttentionMaps maps = one_layer({" a", "b"}, 2, {1, 3}, {1, 0, 0.25F, 0.75F, 1, 0, 0.5F, 0.5F});
  maps.layers.push_back(one_layer({" a", "b"}, 5, {1, 3}, {1, 0, 0, 1, 1, 0, 1, 0}).layers[0]);
  const json view = json::parse(bertviz_json({maps, maps}));
  REQUIRE(view["attention"].size() == 2);
  const json& first = view["attention"][0];
  REQUIRE(first["name"] == "model, document 0");
  REQUIRE(first["left_text"] == json({" a", "b"}));
  REQUIRE(first["right_text"] == first["left_text"]);
  REQUIRE(first["attn"] == json::parse("[[[[1,0],[0.25,0.75]],[[1,0],[0.5,0.5]]],"
                                       "[[[1,0],[0,1]],[[1,0],[1,0]]]]"));
  check_json(view, R"({"default_filter": "0", "layer": 2})");
  REQUIRE(view["heads"] == json({0, 1}));
  REQUIRE(view["include_layers"] == json({2, 5}));
  REQUIRE(view["include_heads"] == json({1, 3}));
}

TEST_CASE(
    "BertViz output refuses layers with different heads and documents with different layers") {
  AttentionMaps maps = one_layer({"a"}, 0, {0}, {1});
  AttentionMaps other = one_layer({"a"}, 1, {0}, {1});
  REQUIRE(error_of([&] {
            bertviz_json({maps, other});
          }) == "[bertviz_json] expected the same layers in every document");
  other = one_layer({"a"}, 1, {2}, {1});
  maps.layers.push_back(other.layers[0]);
  REQUIRE(error_of([&] { bertviz_json({maps}); }) ==
          "[bertviz_json] layer 1 holds other heads than layer 0: BertViz needs the same heads of "
          "every layer");
  REQUIRE(error_of([] { bertviz_json({}); }) ==
          "[bertviz_json] expected at least one document, got none");
}
