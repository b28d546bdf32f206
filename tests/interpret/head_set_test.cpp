#include "headlight/interpret/head_set.h"
#include "support/test.h"

TEST_CASE("heads are named by layer and head or in the format of transformers' prune_heads") {
  CHECK(HeadSet::parse("0.1,2.3") == HeadSet{{0, 1}, {2, 3}});
  CHECK(HeadSet::parse("0:1,2;3:0") == HeadSet{{0, 1}, {0, 2}, {3, 0}});
  CHECK(HeadSet::parse("10.11") == HeadSet{{10, 11}});
  CHECK(HeadSet::parse("2.3,0.1,2.3") == HeadSet{{0, 1}, {2, 3}});
  CHECK(head_name({10, 11}) == "10.11");
}

TEST_CASE("invalid names of heads are refused in one line") {
  for (const char* text : {"", ",", "1", "1.", ".1", "1.2.3", "a.b", "-1.2", "1.2,", "0:", "0:1;",
                           "0:1:2", ":1", "0:1,,2", "0.1;1.2", "99999999999999999999.1", "0. 1"}) {
    INFO(text);
    check_error([&] { HeadSet::parse(text); }, {"heads", "0.1,2.3", text});
  }
}

TEST_CASE("heads that a model lacks are refused also when layers have different numbers of heads") {
  GptConfig config{.vocab_size = 5, .n_layer = 2, .n_head = 2, .n_embd = 8};
  config.heads_per_layer = {1, 3};
  config.head_width = 4;
  const HeadLayout layout = config.head_layout();
  const HeadSet all = HeadSet::all(layout);
  CHECK(all == HeadSet{{0, 0}, {1, 0}, {1, 1}, {1, 2}});
  CHECK_NOTHROW(all.require_in(layout));
  CHECK(HeadSet{}.or_all(layout) == all);
  CHECK(HeadSet{{1, 2}}.or_all(layout) == HeadSet{{1, 2}});
  const auto error = [&](const HeadSet& heads) { return error_of([&] { heads.or_all(layout); }); };
  CHECK(error({{0, 1}}) == "heads: layer 0 has heads 0 to 0, got 0.1");
  CHECK(error({{1, -1}}) == "heads: layer 1 has heads 0 to 2, got 1.-1");
  CHECK(error({{2, 0}}) == "heads: the model has layers 0 to 1, got 2.0");
}

TEST_CASE("heads are chosen by layer and number and pruned models keep the original numbers") {
  GptConfig config{.vocab_size = 5, .n_layer = 3, .n_head = 2, .n_embd = 8};
  config.head_width = 2;
  config.head_numbers = {{1, 3}, {0, 3}, {0, 1}};
  const HeadLayout layout = config.head_layout();
  CHECK(HeadSet::of_layers(layout, {}) == HeadSet::all(layout));
  CHECK(HeadSet::of_layers(layout, {1}) == HeadSet{{1, 0}, {1, 3}});
  CHECK(HeadSet::of_layers(layout, {1, 0, 1}, {3, 3}) == HeadSet{{0, 3}, {1, 3}});
  const auto error = [&](const std::vector<Index>& layers, const std::vector<Index>& numbers) {
    return error_of([&] { HeadSet::of_layers(layout, layers, numbers); });
  };
  CHECK(error({0, 3}, {}) == "layers: the model has layers 0 to 2, got 3");
  CHECK(error({-1}, {}) == "layers: the model has layers 0 to 2, got -1");
  CHECK(error({}, {3}) == "heads: layer 2 has heads 0 to 1, got 2.3");
}

TEST_CASE("a set of heads lists its layers and the heads in each") {
  const HeadSet heads{{3, 1}, {0, 2}, {3, 0}, {0, 2}};
  CHECK(heads.size() == 3);
  CHECK(heads[1] == HeadId{3, 0});
  CHECK(heads.layers() == std::vector<Index>{0, 3});
  CHECK(HeadSet(std::vector<HeadId>(heads.of_layer(3).begin(), heads.of_layer(3).end())) ==
        HeadSet{{3, 0}, {3, 1}});
  CHECK(heads.of_layer(1).empty());
  CHECK(heads.of_layer(4).empty());
  CHECK(heads.contains({0, 2}));
  CHECK_FALSE(heads.contains({0, 1}));
}
