#include "show/result/result.h"
#include "show/attention_samples.h"
#include "support/test.h"

ResultGrid shares() {
  return {"recovered",
          {.title = "Recovered </script>",
           .row_title = "layer",
           .column_title = "position",
           .rows = {"0", "1"},
           .columns = {"0 <b>", "1 하늘", "2"},
           .values = {0.5, -0.25, std::numeric_limits<double>::quiet_NaN(), 1, 0, 0.125},
           .lows = {0.25, -0.5, std::numeric_limits<double>::quiet_NaN(), 1, 0, 0},
           .highs = {0.75, 0, std::numeric_limits<double>::quiet_NaN(), 1, 0, 0.25},
           .limit = 1}};
}

TEST_CASE("the arrays of a result are its values and interval ends and axis names") {
  ResultGrid list{"loss", {.row_title = "layer", .rows = {"0", "1"}, .columns = {""}}};
  list.plot.values = {3, 2};
  const ResultArrays arrays = arrays_of({shares(), list});
  REQUIRE(arrays.tensors.size() == 4);
  CHECK(arrays.tensors[0].first == "recovered");
  CHECK(arrays.tensors[0].second.shape() == Shape{2, 3});
  CHECK(arrays.tensors[0].second.to_vector()[3] == 1);
  CHECK(arrays.tensors[1].first == "recovered_low");
  CHECK(arrays.tensors[2].second.to_vector()[5] == 0.25);
  CHECK(arrays.tensors[3].second.shape() == Shape{2});
  REQUIRE(arrays.texts.size() == 2);  // both grids share the axis "layer"
  CHECK(arrays.texts[0].first == "layer");
  CHECK(arrays.texts[1].second[1] == "1 하늘");
  list.plot.rows = {"0", "2"};
  CHECK(contains(error_of([&] { arrays_of({shares(), list}); }), "two axes are called layer"));
}

TEST_CASE("a page of results is one file that loads nothing from the network") {
  const std::string page = result_html(
      {.title = "What <z> carries", .note = "1 < 2", .graph = "<svg></svg>", .grids = {shares()}});
  check_parts(page, {"<h1>What &lt;z&gt; carries</h1>", "1 &lt; 2", "<svg></svg>",
                     "Recovered \\u003c/script\\u003e", "\"values\":[0.5,-0.25,null,1.0,0.0,0.125]",
                     "default-src 'none'"});
  check_lacks(page, {"http:", "https:", "import ", "{{"});
}
