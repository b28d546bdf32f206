#include "headlight/interpret/scores/token_circuits.h"
#include "show/attention_samples.h"
#include "show/report/token_circuit_plot.h"
#include "support/saved_model.h"
#include "support/test.h"

namespace cli_attention_views_test {
// Views that `attention` writes, with the real program and models made in memory.

using Json = nlohmann::json;

// Runs of `attention` on a model.
struct Given : SavedModel {
  Arguments with(const std::string& more) const {
    return changed(words("attention", model, "--text abca --out", out), split_words(more));
  }
  std::string draw(const std::string& more) const { return output_of(with(more)); }
  std::string file(const std::string& name) const { return file_contents(out + "/" + name); }
  std::string page() const { return file("attention.html"); }

  std::string out = folder.at("maps");
};

TEST_CASE("attention puts a second text or model beside the first", "[cli]") {
  const Given given;
  given.draw("--compare_text xyz --format html,npz");
  CHECK(embedded_page(given.page())["beside"] == 1);
  CHECK(embedded_data(given.page(), 1)["tokens"] == Json({"x", "y", "z"}));
  CHECK(read_npz(given.out + "/attention.npz")[0].second.shape() == Shape({2, 2, 4, 4}));
  given.draw("--compare_text xyz --compare " + given.model);
  CHECK(embedded_page(given.page())["documents"].size() == 4);
  CHECK(embedded_page(given.page())["beside"] == 2);
  CHECK(embedded_data(given.page(), 2)["tokens"] == Json({"a", "b", "c", "a"}));
  CHECK(embedded_data(given.page(), 2)["title"] == given.model);
}

TEST_CASE("attention records queries and keys when the neuron view is asked for", "[cli]") {
  const Given given;
  given.draw("--format html,npz");
  CHECK_FALSE(embedded_data(given.page())["layers"][0].contains("vectors"));
  for (const std::string wanted : {"--view neuron", "--neurons"}) {
    given.draw("--heads 1 --format html,npz " + wanted);
    CHECK(embedded_data(given.page())["layers"][1]["vectors"].size() == 1);
    const TensorMap arrays = npz_arrays(given.out + "/attention.npz");
    CHECK(arrays.size() == 8);
    CHECK(arrays.contains("blocks.0.attn.hook_q"));
    const Tensor keys = arrays.at("blocks.1.attn.hook_k");
    CHECK((keys.size(0) == 1 && keys.size(1) == 4 && keys.size(2) == 1));
    CHECK(arrays.at("blocks.1.attn.heads").to_vector() == std::vector<double>{1});
  }
}

TEST_CASE("attention shows the classes of heads given in a file", "[cli]") {
  const Given given;
  given.draw("--format html --scores " + given.folder.write("heads.json", R"({"heads": [
               {"head": "0.1", "verdict": "first token", "verdict_score": 0.5},
               {"head": "1.0", "verdict": "mixed", "score": null}]})"));
  CHECK(embedded_data(given.page())["scores"] == Json::parse(R"({"0.1": ["first token", 0.5]})"));
  check_refused(given.with("--scores " + given.folder.write("wrong.json", "[1]")),
                {"wrong.json: expected {\"heads\": ["});
}

TEST_CASE("attention prints maps in digits where there is no terminal", "[cli]") {
  const Given given;
  const std::string printed = given.draw("--view terminal --heads 1.0");
  check_parts(printed, {"model head 1.0  rows are queries, columns keys; per cent of the row\n",
                        "\n0 a  100\n1 b", "wrote " + given.out + "/attention.txt"});
  CHECK_FALSE(contains(printed, "\x1b"));
  CHECK(printed.starts_with(given.file("attention.txt")));
  CHECK(contains(given.draw("--view terminal --number_format .1f"), "\n0 a  1.0\n"));
  CHECK_FALSE(
      contains(output_of(words("attention", given.model, "--text ab --view terminal")), "wrote"));
}

TEST_CASE("attention deletes layer figures that an earlier run left in its folder", "[cli]") {
  const Given given;
  const auto has = [&](const std::string& name) { return fs::exists(given.out + "/" + name); };
  given.draw("--format svg");
  CHECK(has("layer_1.svg"));
  given.folder.write("maps/layer_one.svg", "mine");
  given.folder.write("maps/layer_7.svg.txt", "mine");
  given.draw("--format npz");  // without figures, none are replaced
  CHECK(has("layer_1.svg"));
  given.draw("--format svg --layers 0");
  CHECK(has("layer_0.svg"));
  CHECK_FALSE(has("layer_1.svg"));
  CHECK(given.file("layer_one.svg") == "mine");
  CHECK(given.file("layer_7.svg.txt") == "mine");
}

TEST_CASE("attention merges tokens to words in every view", "[cli]") {
  const Given given;
  const std::string printed = given.draw(
      "--text '나 너 ab' --units word --format npz,json,svg,html,bertviz,text --lang ko "
      "--title 제목 --colours magma");
  NamedTexts texts;
  const NamedTensors arrays = read_npz(given.out + "/attention.npz", &texts);
  CHECK(arrays[0].second.shape() == Shape({1, 2, 3, 3}));
  CHECK(texts == NamedTexts{{"token_labels", {"나", " 너", " ab"}}});
  CHECK(arrays.back().first == "cells");
  CHECK(arrays.back().second.to_vector() == std::vector<double>{0, 0, 0, 1, 1, 1, 1, 2, 2, 2});
  const Json tokens = Json::parse(given.file("tokens.json"));
  CHECK(tokens["unit"] == "word");
  CHECK(tokens["documents"][0]["begins"] == Json({0, 3, 7}));
  CHECK(embedded_data(given.page())["labels"] == Json({"나", "너", "ab"}));
  CHECK(contains(given.page(), "<h1>제목</h1>"));
  CHECK(Json::parse(given.file("bertviz.json"))["attention"][0]["left_text"] ==
        Json({"나", " 너", " ab"}));
  check_parts(given.file("layer_0.svg"), {"단어 3개", "'Noto Sans CJK KR'"});
  CHECK(contains(printed, "제목 헤드 0.0"));
}

TEST_CASE("attention draws circuits of the tokens of a text", "[cli]") {
  const Given given;
  const Json report = report_of(given.with("--ov --qk --heads 1.0 --format svg"));
  CHECK(report["files"].size() == 3);  // layer_1, ov_1.0, qk_1.0
  const std::unique_ptr<Gpt> model = load_weights(given.model);
  const CircuitTokens tokens{'a', 'b', 'c'};  // bytes
  const auto figure = [&](TokenCircuit kind, const Tensor& values) {
    return matrix_plot_svg(
        token_circuit_plot(kind, {1, 0}, values, {{"a", "b", "c"}, {"a", "b", "c"}}));
  };
  CHECK(given.file("ov_1.0.svg") ==
        figure(TokenCircuit::ov, ov_circuit(*model, {1, 0}, tokens, tokens)));
  CHECK(given.file("qk_1.0.svg") ==
        figure(TokenCircuit::qk, qk_circuit(*model, {1, 0}, tokens, tokens)));
}

TEST_CASE("attention writes BertViz JSON and PNG on request or names the missing library",
          "[cli]") {
  const Given given;
  given.draw("--format bertviz");
  const Json view = Json::parse(given.file("bertviz.json"));
  CHECK(view["attention"][0]["attn"][1][1].size() == 4);
  CHECK(view["attention"][0]["left_text"] == Json({"a", "b", "c", "a"}));
  const ProgramResult drawn = run_headlight(given.with("--format png"));
  if (drawn.exit_code == 0) {
    CHECK(given.file("layer_0.png").starts_with("\x89PNG\r\n\x1a\n"));
  } else {
    CHECK(contains(drawn.err, "--format png: librsvg-2.so.2 cannot be loaded"));
  }
}

TEST_CASE("attention draws differences of weights and weights by values", "[cli]") {
  const Given given;
  given.draw("--compare_text abxa --difference --format svg");
  check_parts(given.file("layer_1.svg"), {"Difference of weights", ">c/x</text>"});
  given.draw("--value_weighted --format svg,html");
  CHECK(contains(given.file("layer_0.svg"), "model · value-weighted"));
}
}  // namespace cli_attention_views_test
