#include "show/attention_samples.h"
#include "show/result/result_table.h"
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

// Three heads with a measure; the last one has no layer, and so no cell in grids.
ResultTable three_heads() {
  struct Row {
    HeadId head;
    std::optional<Index> layer;
    Interval rise;
  };
  const std::vector<Row> rows{
      {{0, 1}, 0, {1, 0.5, 2}}, {{1, 0}, 1, {-3, -3, -3}}, {{2, 0}, std::nullopt, {2, 1, 4}}};
  const ColumnsOf of_rows{rows};
  ResultColumn rise = of_rows("rise", &Row::rise, "rise").as(NumberForm::change, 1);
  rise.is_doubtful = true;
  return {.columns = {of_rows("head", &Row::head, "head"), of_rows("layer", &Row::layer),
                      of_rows("index", [](const Row& row) { return row.head.head; }), rise,
                      of_rows(
                          "half", [](const Row& row) { return row.rise.mean / 2; }, "half",
                          ColumnUse::json)
                          .as(NumberForm::percent, 0),
                      of_rows("names", [](const Row& row) -> Json { return {row.rise.low}; }),
                      of_rows.hidden("order", [](const Row& row) { return row.rise.high; })},
          .views = {{"heads", "rise", "Rise", kLayerAxis, kHeadAxis, 1},
                    {"list", "half", "Half", {.title = "head", .column = "head"}}},
          .ranking = Ranking::highest,
          .ranked_by = "order"};
}

TEST_CASE("the text, JSON, arrays and grids of a table follow from its columns") {
  const ResultTable table = three_heads();
  CHECK(text_table(table).text() ==
        "head  rise                    half\n"
        "2.0   +2.0 (+1.0 to +4.0) ?   100%\n"
        "0.1   +1.0 (+0.5 to +2.0) ?    50%\n"
        "1.0   -3.0 ?                 -150%\n");
  const Json rows = rows_of(table, [] {});
  REQUIRE(rows.size() == 3);
  CHECK(rows[2] == parse_json(R"({"head": "2.0", "layer": null, "index": 0, "rise": 2,
    "rise_low": 1, "rise_high": 4, "half": 1, "names": [1]})",
                              "test"));
  ResultArrays arrays;
  add_arrays(table, "all_", arrays);
  const auto names = transformed(arrays.tensors, [](const auto& named) { return named.first; });
  CHECK(names == std::vector<std::string>{"all_head", "all_layer", "all_index", "all_rise",
                                          "all_rise_low", "all_rise_high"});
  CHECK(arrays.tensors[0].second.to_vector() == std::vector<double>{1, 0, 0});
  CHECK(arrays.tensors[1].second.to_vector() == std::vector<double>{0, 1, -1});
  const std::vector<ResultGrid> grids = grids_of(table, "few");
  REQUIRE(grids.size() == 2);
  const MatrixPlot& heads = grids[0].plot;
  CHECK(heads.rows == std::vector<std::string>{"0", "1"});
  CHECK(heads.columns == std::vector<std::string>{"0", "1"});
  CHECK(heads.values[1] == 1);
  CHECK(heads.lows[2] == -3);
  CHECK(std::isnan(heads.values[0]));
  CHECK((heads.doubtful && heads.note == "few"));
  CHECK(grids[1].plot.values == std::vector<double>{0.5, -1.5, 1});
  CHECK(grids[1].plot.rows == std::vector<std::string>{"0.1", "1.0", "2.0"});
}

TEST_CASE("the JSON of a table may have intervals as objects") {
  ResultTable table = three_heads();
  table.columns = {table.columns[3]};
  table.columns[0].is_object = true;
  CHECK(rows_of(table, [] {})[1] ==
        parse_json(R"({"rise": {"mean": -3, "low": -3, "high": -3}})", "test"));
}

TEST_CASE("a page of results is one file that loads nothing from the network") {
  const std::string page = result_html(
      {.title = "What <z> carries", .note = "1 < 2", .graph = "<svg></svg>", .grids = {shares()}});
  check_parts(page, {"<h1>What &lt;z&gt; carries</h1>", "1 &lt; 2", "<svg></svg>",
                     "Recovered \\u003c/script\\u003e", "\"values\":[0.5,-0.25,null,1.0,0.0,0.125]",
                     "default-src 'none'"});
  check_lacks(page, {"http:", "https:", "import ", "{{"});
}
