#include "support/saved_model.h"
#include "support/test.h"

namespace cli_lens_test {
// `headlight lens` with the real program and a model made in memory.

using Json = nlohmann::json;

TEST_CASE("lens writes the prediction of every layer as JSON and table and picture and arrays",
          "[cli]") {
  const SavedModel given;
  const std::string svg = given.folder.at("lens.svg");
  const std::string npz = given.folder.at("lens.npz");
  const Arguments task{"lens", given.model, "--text", "abcde", "--top_k", "3"};
  const Json report = report_of(changed(task, {"--svg", svg, "--npz", npz}));
  check_json(report, R"({"point": "resid_post", "positions#": 5, "positions/1/token": "b",
                         "positions/1/target/token": "c", "rows#": 3, "rows/0/row": "embed",
                         "rows/2/layer": 1})");
  const Json& last = report["rows"][2]["readings"][4];
  check_json(last, R"({"rank": 1, "kl": 0, "top#": 3})");
  CHECK(last["top"][0]["id"] == report["positions"][4]["target"]["id"]);
  CHECK(last["top"][0]["probability"] == last["probability"]);

  const NamedTensors arrays = read_npz(npz);
  REQUIRE(arrays.size() == 11);
  CHECK(arrays[0].first == "probability");
  CHECK(arrays[0].second.to_vector()[14] == Approx(last["probability"]));
  CHECK(arrays[5].second.shape() == Shape{3, 5, 3});
  CHECK(arrays[7].second.to_vector() == std::vector<double>{-1, 0, 1});

  const std::string picture = file_contents(svg);
  check_parts(picture, {"Logit lens", "embed"});
  const std::string table = output_of(task);
  CHECK(contains(table, "after 'e' (position 4): target '"));
  CHECK(std::ranges::count(table, '\n') == 2 + 5 + 1 + 3 + 4);
}

TEST_CASE("lens reads other points, some layers and positions, and another target", "[cli]") {
  const SavedModel given;
  const Arguments task =
      words("lens", given.model, "--text abcde --point mlp_out --positions last --answer #102");
  const Json report = report_of(task);
  check_json(report, R"({"positions#": 1, "positions/0/position": 4,
                         "positions/0/target/token": "f", "rows#": 4, "rows/3/row": "final",
                         "rows/3/layer": 2})");
  CHECK(report_of(changed(task, {"--layers", "1"}))["rows"].size() == 2);
  CHECK(output_of(task).rfind("after 'e' (position 4): target 'f', which the model gives", 0) == 0);
  const Json some = report_of({"lens", given.model, "--text", "abcde", "--positions", "1-2"});
  CHECK(some["positions"][1]["target"]["token"] == "d");
}

TEST_CASE("the tables of lens fit a terminal of 80 columns", "[cli]") {
  const SavedModel given;
  std::istringstream lines(
      output_of({"lens", given.model, "--text", "a text that is longer than it"}));
  std::size_t blocks = 0;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(terminal_width(line) <= 80);
    blocks += line.rfind("layer", 0) == 0 ? 1 : 0;
  }
  CHECK(blocks > 2);
}

TEST_CASE("lens gives means over a text and its last row equals the loss of eval", "[cli]") {
  const SavedModel given;
  const std::string svg = given.folder.at("layers.svg");
  const Arguments data{"--data", given.text, "--documents", "line"};
  const Json report = report_of(changed({"lens", given.model, "--svg", svg}, data));
  const Json evaluation = report_of(changed({"eval", given.model}, data));
  REQUIRE(report["rows"].size() == 3);
  CHECK(report["rows"][2]["loss"] == Approx(evaluation["loss"]));
  CHECK(report["rows"][2]["kl"] == 0);
  CHECK(report["tokens"] == evaluation["tokens"]);
  CHECK(contains(file_contents(svg), "accuracy"));
  CHECK(contains(output_of(changed({"lens", given.model}, data)), "KL"));
}
}  // namespace cli_lens_test
