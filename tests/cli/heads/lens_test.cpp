#include "support/test.h"

namespace heads_lens_test {
// `headlight lens` with the real program and a model made in memory.

using Json = nlohmann::json;

struct Given {
  Given() {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 32), ByteTokenizer());
  }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  std::string text = folder.write("text.txt", "one line of text\nanother line\nend\n");
};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("lens writes the prediction of every layer as JSON and table and picture and arrays",
          "[cli]") {
  const Given given;
  const std::string svg = given.folder.at("lens.svg");
  const std::string npz = given.folder.at("lens.npz");
  const Arguments task{"lens", given.model, "--text", "abcde", "--top_k", "3"};
  const Json report = report_of(changed(task, {"--svg", svg, "--npz", npz}));
  CHECK(report["point"] == "resid_post");
  REQUIRE(report["positions"].size() == 5);
  CHECK(report["positions"][1]["token"] == "b");
  CHECK(report["positions"][1]["target"]["token"] == "c");
  REQUIRE(report["rows"].size() == 3);
  CHECK(report["rows"][0]["row"] == "embed");
  CHECK(report["rows"][2]["layer"] == 1);
  const Json& last = report["rows"][2]["readings"][4];
  CHECK(last["rank"] == 1);
  CHECK(last["kl"] == 0);
  CHECK(last["top"].size() == 3);
  CHECK(last["top"][0]["id"] == report["positions"][4]["target"]["id"]);
  CHECK(last["top"][0]["probability"] == last["probability"]);

  const NamedTensors arrays = read_npz(npz);
  REQUIRE(arrays.size() == 11);
  CHECK(arrays[0].first == "probability");
  CHECK(arrays[0].second.shape() == Shape{3, 5});
  CHECK(arrays[0].second.to_vector()[14] == Approx(last["probability"].get<double>()));
  CHECK(arrays[5].second.shape() == Shape{3, 5, 3});
  CHECK(arrays[7].second.to_vector() == std::vector<double>{-1, 0, 1});

  const std::string picture = file_contents(svg);
  CHECK(contains(picture, "Logit lens"));
  CHECK(contains(picture, "embed"));
  const std::string table = output_of(task);
  CHECK(contains(table, "after 'e' (position 4): target '"));
  CHECK(lines_of(table) == 2 + 5 + 1 + 3 + 4);
}

TEST_CASE("lens reads other points, some layers and positions, and another target", "[cli]") {
  const Given given;
  const Arguments task =
      words("lens", given.model, "--text abcde --point mlp_out --positions last --target #102");
  const Json report = report_of(task);
  REQUIRE(report["positions"].size() == 1);
  CHECK(report["positions"][0]["position"] == 4);
  CHECK(report["positions"][0]["target"]["token"] == "f");
  REQUIRE(report["rows"].size() == 4);
  CHECK(report["rows"][3]["row"] == "final");
  CHECK(report["rows"][3]["layer"] == 2);
  CHECK(report_of(changed(task, {"--layers", "1"}))["rows"].size() == 2);
  CHECK(output_of(task).rfind("after 'e' (position 4): target 'f', which the model gives", 0) == 0);
  const Json some = report_of({"lens", given.model, "--text", "abcde", "--positions", "1-2"});
  CHECK(some["positions"][1]["target"]["token"] == "d");
}

TEST_CASE("the tables of lens fit a terminal of 80 columns", "[cli]") {
  const Given given;
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
  const Given given;
  const std::string svg = given.folder.at("layers.svg");
  const Arguments data{"--data", given.text, "--documents", "line"};
  const Json report = report_of(changed({"lens", given.model, "--svg", svg}, data));
  const Json evaluation = report_of(changed({"eval", given.model}, data));
  REQUIRE(report["rows"].size() == 3);
  CHECK(report["rows"][2]["loss"].get<double>() == Approx(evaluation["loss"].get<double>()));
  CHECK(report["rows"][2]["kl"] == 0);
  CHECK(report["tokens"] == evaluation["tokens"]);
  CHECK(contains(file_contents(svg), "accuracy"));
  CHECK(output_of(changed({"lens", given.model}, data)).find("KL") != std::string::npos);
}
}  // namespace heads_lens_test
