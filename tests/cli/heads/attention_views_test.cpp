#include "headlight/interpret/scores/token_circuits.h"
#include "show/attention_samples.h"
#include "show/report/token_circuit_plot.h"
#include "support/test.h"

namespace heads_attention_views_test {
// Views that `attention` writes, with the real program and models made in memory.

using Json = nlohmann::json;

// Model directory, and runs of `attention` on it.
struct Material {
  Material() : model(folder.at("model")), out(folder.at("maps")) {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 32), ByteTokenizer());
  }

  ProgramResult run(const Arguments& more) const {
    Arguments arguments = {"attention", model, "--text", "abca", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_headlight(arguments);
  }
  std::string page() const { return file_contents(out + "/attention.html"); }
  // Message of a run that must be refused.
  std::string refusal(const Arguments& more) const {
    const ProgramResult result = run(more);
    CHECK(result.exit_code == 2);
    const std::vector<std::string> messages = result.messages();
    return messages.empty() ? "" : messages.front();
  }

  TemporaryFolder folder;
  std::string model;
  std::string out;
};

TEST_CASE("attention puts a second text or model beside the first", "[cli]") {
  const Material given;
  REQUIRE(given.run({"--compare_text", "xyz", "--format", "html,npz"}).exit_code == 0);
  CHECK(embedded_page(given.page())["beside"] == 1);
  CHECK(embedded_data(given.page(), 1)["tokens"] == Json({"x", "y", "z"}));
  CHECK(read_npz(given.out + "/attention.npz")[0].second.shape() == Shape({2, 2, 4, 4}));
  REQUIRE(given.run({"--compare_text", "xyz", "--compare", given.model}).exit_code == 0);
  CHECK(embedded_page(given.page())["documents"].size() == 4);
  CHECK(embedded_page(given.page())["beside"] == 2);
  CHECK(embedded_data(given.page(), 2)["tokens"] == Json({"a", "b", "c", "a"}));
  CHECK(embedded_data(given.page(), 2)["title"] == given.model);
}

TEST_CASE("attention takes the page's files from a folder when one is given", "[cli]") {
  const Material given;
  const fs::path files = given.folder.at("files");
  fs::copy(fs::path(HEADLIGHT_SOURCE_DIR) / "src/show/page", files, fs::copy_options::recursive);
  const Arguments arguments = {"--format", "html", "--page_files", files.string()};
  REQUIRE(given.run(arguments).exit_code == 0);
  const std::string page = given.page();
  REQUIRE(given.run({"--format", "html"}).exit_code == 0);
  CHECK(given.page() == page);

  std::ofstream(files / "style.css", std::ios::app) << ".of-my-own {}\n";
  std::ofstream(files / "main.js", std::ios::app) << "const ofMyOwn = 1;\n";
  REQUIRE(given.run(arguments).exit_code == 0);
  CHECK(contains(given.page(), ".of-my-own {}\n</style>"));
  CHECK(contains(given.page(), "const ofMyOwn = 1;\n"));

  std::ofstream(files / "main.js", std::ios::app) << "import {none} from './dom.js';\n";
  CHECK(contains(given.refusal(arguments), "main.js: imports none, which dom.js does not export"));
  fs::remove(files / "style.css");
  CHECK(contains(given.refusal(arguments), (files / "style.css").string()));
  fs::remove(files / "index.html");
  CHECK(contains(given.refusal(arguments),
                 "--page_files: expected a folder with an index.html, got '" + files.string()));
}

TEST_CASE("attention records queries and keys when the neuron view is asked for", "[cli]") {
  const Material given;
  REQUIRE(given.run({"--format", "html,npz"}).exit_code == 0);
  CHECK_FALSE(embedded_data(given.page())["layers"][0].contains("vectors"));
  for (const Arguments& wanted : {Arguments{"--view", "neuron"}, Arguments{"--neurons"}}) {
    Arguments arguments = {"--heads", "1", "--format", "html,npz"};
    arguments.insert(arguments.end(), wanted.begin(), wanted.end());
    REQUIRE(given.run(arguments).exit_code == 0);
    CHECK(embedded_data(given.page())["layers"][1]["vectors"].size() == 1);
    const NamedTensors arrays = read_npz(given.out + "/attention.npz");
    REQUIRE(arrays.size() == 8);
    CHECK(arrays[1].first == "blocks.0.attn.hook_q");
    CHECK(arrays[6].first == "blocks.1.attn.hook_k");
    CHECK(arrays[6].second.size(0) == 1);
    CHECK(arrays[6].second.size(1) == 4);
    CHECK(arrays[6].second.size(2) == 1);
    CHECK(arrays[7].first == "blocks.1.attn.heads");
    CHECK(arrays[7].second.to_vector() == std::vector<double>{1});
  }
}

TEST_CASE("attention shows the classes of heads given in a file", "[cli]") {
  const Material given;
  const std::string file = given.folder.write(
      "heads.json", R"({"heads": [{"head": "0.1", "verdict": "first token", "verdict_score": 0.5},
                                  {"head": "1.0", "verdict": "mixed", "score": null}]})");
  REQUIRE(given.run({"--scores", file, "--format", "html"}).exit_code == 0);
  CHECK(embedded_data(given.page())["scores"] == Json::parse(R"({"0.1": ["first token", 0.5]})"));
  const std::string wrong = given.folder.write("wrong.json", "[1]");
  CHECK(contains(given.refusal({"--scores", wrong}), "wrong.json: expected {\"heads\": ["));
}

TEST_CASE("attention prints maps in digits where there is no terminal", "[cli]") {
  const Material given;
  const ProgramResult result = given.run({"--view", "terminal", "--heads", "1.0"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out,
                 "model head 1.0  rows are queries, columns keys; per cent of the row\n"));
  CHECK(contains(result.out, "\n0 a  100\n1 b"));
  CHECK_FALSE(contains(result.out, "\x1b"));
  CHECK(contains(result.out, "wrote " + given.out + "/attention.txt"));
  const std::string text = file_contents(given.out + "/attention.txt");
  CHECK(text == result.out.substr(0, text.size()));
  CHECK(contains(given.run({"--view", "terminal", "--number_format", ".1f"}).out, "\n0 a  1.0\n"));
  CHECK_FALSE(
      contains(run_headlight({"attention", given.model, "--text", "ab", "--view", "terminal"}).out,
               "wrote"));
  CHECK(given.refusal({"--format", "text", "--json"}) ==
        "error: --format text: cannot be combined with --json");
}

TEST_CASE("attention deletes layer figures that an earlier run left in its folder", "[cli]") {
  const Material given;
  REQUIRE(given.run({"--format", "svg"}).exit_code == 0);
  CHECK(fs::exists(given.out + "/layer_1.svg"));
  given.folder.write("maps/layer_one.svg", "mine");
  given.folder.write("maps/layer_7.svg.txt", "mine");
  REQUIRE(given.run({"--format", "npz"}).exit_code == 0);  // without figures, none are replaced
  CHECK(fs::exists(given.out + "/layer_1.svg"));
  REQUIRE(given.run({"--format", "svg", "--layers", "0"}).exit_code == 0);
  CHECK(fs::exists(given.out + "/layer_0.svg"));
  CHECK_FALSE(fs::exists(given.out + "/layer_1.svg"));
  CHECK(file_contents(given.out + "/layer_one.svg") == "mine");
  CHECK(file_contents(given.out + "/layer_7.svg.txt") == "mine");
}

TEST_CASE("attention merges tokens to words in every view", "[cli]") {
  const Material given;
  const std::string sentence = "나 너 ab";
  const std::string printed = output_of(
      {"attention", given.model, "--out", given.out, "--text", sentence, "--by", "word", "--format",
       "npz,json,svg,html,bertviz,text", "--lang", "ko", "--title", "제목", "--colours", "magma"});
  NamedTexts texts;
  const NamedTensors arrays = read_npz(given.out + "/attention.npz", &texts);
  CHECK(arrays[0].second.shape() == Shape({1, 2, 3, 3}));
  CHECK(texts == NamedTexts{{"token_labels", {"나", " 너", " ab"}}});
  CHECK(arrays.back().first == "cells");
  CHECK(arrays.back().second.to_vector() == std::vector<double>{0, 0, 0, 1, 1, 1, 1, 2, 2, 2});
  const Json tokens = Json::parse(file_contents(given.out + "/tokens.json"));
  CHECK(tokens["unit"] == "word");
  CHECK(tokens["documents"][0]["begins"] == Json({0, 3, 7}));
  CHECK(embedded_data(given.page())["labels"] == Json({"나", "너", "ab"}));
  CHECK(contains(given.page(), "<h1>제목</h1>"));
  const Json bertviz = Json::parse(file_contents(given.out + "/bertviz.json"));
  CHECK(bertviz["attention"][0]["left_text"] == Json({"나", " 너", " ab"}));
  const std::string figure = file_contents(given.out + "/layer_0.svg");
  CHECK(contains(figure, "단어 3개"));
  CHECK(contains(figure, "'Noto Sans CJK KR'"));
  CHECK(contains(printed, "제목 헤드 0.0"));
}

TEST_CASE("attention chooses colours for a dark or light terminal background", "[cli]") {
  const Material given;
  CHECK(given.refusal({"--view", "terminal", "--ground", "blue"}) ==
        "error: --ground: expected dark, light or auto, got 'blue'");
  CHECK(given.run({"--view", "terminal", "--ground", "light"}).exit_code == 0);
}

TEST_CASE("attention draws circuits of the tokens of a text", "[cli]") {
  const Material given;
  const ProgramResult result =
      given.run({"--ov", "--qk", "--heads", "1.0", "--format", "svg", "--json"});
  REQUIRE(result.exit_code == 0);
  CHECK(Json::parse(result.out)["files"].size() == 3);  // layer_1, ov_1.0, qk_1.0
  const std::unique_ptr<Gpt> model = load_weights(given.model);
  const CircuitTokens tokens{'a', 'b', 'c'};  // bytes
  const CircuitLabels labels{{"a", "b", "c"}, {"a", "b", "c"}};
  const auto figure = [&](TokenCircuit kind, const Tensor& values) {
    return matrix_plot_svg(token_circuit_plot(kind, {1, 0}, values, labels));
  };
  CHECK(file_contents(given.out + "/ov_1.0.svg") ==
        figure(TokenCircuit::ov, ov_circuit(*model, {1, 0}, tokens, tokens)));
  CHECK(file_contents(given.out + "/qk_1.0.svg") ==
        figure(TokenCircuit::qk, qk_circuit(*model, {1, 0}, tokens, tokens)));
  CHECK(given.refusal({"--ov"}) == "error: --ov: needs --heads, such as 1.2");
  CHECK(given.refusal({"--qk", "--heads", "1.0", "--format", "npz"}) ==
        "error: --qk: needs --format svg");
}

TEST_CASE("attention writes BertViz JSON and PNG on request or names the missing library",
          "[cli]") {
  const Material given;
  REQUIRE(given.run({"--format", "bertviz"}).exit_code == 0);
  const Json json = Json::parse(file_contents(given.out + "/bertviz.json"));
  CHECK(json["attention"][0]["attn"][1][1].size() == 4);
  CHECK(json["attention"][0]["left_text"] == Json({"a", "b", "c", "a"}));
  const ProgramResult drawn = given.run({"--format", "png"});
  if (drawn.exit_code == 0) {
    const std::string png = file_contents(given.out + "/layer_0.png");
    CHECK(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  } else {
    CHECK(contains(drawn.err, "--format png: librsvg-2.so.2 cannot be loaded"));
  }
  CHECK(given.refusal({"--format", "gif"}) ==
        "error: --format: expected some of npz, json, svg, png, html, bertviz or text, got "
        "'gif'");
  CHECK(given.refusal({"--view", "list"}) ==
        "error: --view: expected model, head, neuron, grid or terminal, got 'list'");
}

TEST_CASE("attention draws differences of weights and weights by values", "[cli]") {
  const Material given;
  REQUIRE(given.run({"--compare_text", "abxa", "--difference", "--format", "svg"}).exit_code == 0);
  const std::string difference = file_contents(given.out + "/layer_1.svg");
  CHECK(contains(difference, "Difference of weights"));
  CHECK(contains(difference, ">c/x</text>"));
  REQUIRE(given.run({"--value_weighted", "--format", "svg,html"}).exit_code == 0);
  CHECK(contains(file_contents(given.out + "/layer_0.svg"), "model · value-weighted"));
}
}  // namespace heads_attention_views_test
