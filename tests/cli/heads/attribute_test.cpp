#include "headlight/interpret/effects/attribution.h"
#include "support/saved_model.h"
#include "support/test.h"

namespace attribute_test {
// `headlight attribute` with the real program and a model made in memory.

using Json = nlohmann::json;

struct Given : SavedModel {
  // Pairs of texts, the second of which is `second`.
  std::string pairs(const std::string& second) const {
    return folder.write(
        "pairs.jsonl",
        "{\"clean\": \"a line\", \"corrupt\": \"b line\", \"answer\": \"x\", \"wrong\": \"#89\"}\n"
        "{\"clean\": \"" +
            second + "\", \"corrupt\": \"one in\", \"answer\": \"e\", \"wrong\": \"f\"}\n");
  }

  Arguments base = words("attribute", model, "--text 'one line' --answer f --wrong #120");
};

double sum_of(const Json& parts) {
  double sum = 0;
  for (const Json& part : parts) {
    sum += part["logit"].get<double>();
  }
  return sum;
}

TEST_CASE("attribute splits a logit into parts as fine as requested", "[cli]") {
  const Given given;
  const std::string svg = given.folder.at("parts.svg");
  const std::string npz = given.folder.at("parts.npz");
  const double logit = report_of(given.base)["logit"];
  for (const auto& [by, grid, shape, last] :
       {std::tuple{"layer", "layers", Shape{2, 2}, ">attention</text>"},
        std::tuple{"head", "heads", Shape{2, 2}, ">MLP</text>"},
        std::tuple{"source", "sources", Shape{2, 2, 8}, ">all heads</text>"},
        std::tuple{"neuron", "neurons", Shape{2, 64}, "the strongest of each layer"}}) {
    INFO(by);
    const Json report = report_of(changed(given.base, {"--by", by, "--svg", svg, "--npz", npz}));
    CHECK(report["by"] == by);
    CHECK(report["logit"] == Approx(logit).epsilon(1e-5));
    CHECK(sum_of(report["parts"]) == Approx(logit).epsilon(1e-5));
    CHECK(contains(file_contents(svg), last));
    const TensorMap arrays = npz_arrays(npz);
    CHECK(arrays.at(grid).shape() == shape);
    CHECK(arrays.at("logit").size(0) == std::ssize(report["parts"]));
    CHECK(arrays.at("tokens").size(0) == 8);
    CHECK(arrays.at("totals").to_vector()[0] == Approx(logit).epsilon(1e-5));
    for (std::size_t i = 0; i < report["parts"].size(); ++i) {
      const Json& part = report["parts"][i];
      CHECK(arrays.at("logit").to_vector()[i] == part["logit"].get<double>());
      CHECK(arrays.at("neuron").to_vector()[i] ==
            (part["neuron"].is_null() ? -1 : part["neuron"].get<double>()));
    }
  }
}

TEST_CASE("attribute reports the source tokens of heads and the logit after each layer", "[cli]") {
  const Given given;
  const Arguments by_source = changed(given.base, {"--by", "source"});
  check_json(report_of(by_source), R"({"sources#": 8, "sources/1/token": "n"})");
  check_parts(output_of(changed(by_source, {"--limit", "3"})),
              {"all heads from token", "(the strongest 3 of 8; --limit 0 shows all)"});
  const std::string svg = given.folder.at("stream.svg");
  const Json stream = report_of(changed(given.base, {"--by", "stream", "--svg", svg}));
  REQUIRE(stream["parts"].size() == 5);
  CHECK(stream["parts"][4]["logit"] == stream["logit"]);
  CHECK(contains(file_contents(svg), "logit in the residual stream"));
  CHECK(contains(output_of(changed(given.base, {"--by", "stream"})), "logit so far"));
}

TEST_CASE("attribute writes a page with every way to split a logit and names the parts", "[cli]") {
  const Given given;
  const std::string html = given.folder.at("parts.html");
  const std::string npz = given.folder.at("parts.npz");
  for (const Choice<AttributionBy>& choice : kChoices<AttributionBy>) {
    const std::string by(choice.name);
    INFO(by);
    const Json report = report_of(changed(given.base, {"--by", by, "--html", html, "--npz", npz}));
    check_parts(file_contents(html), {"Direct logit attribution", "by " + by});
    NamedTexts texts;
    read_npz(npz, &texts);
    REQUIRE(texts.size() == 1);
    CHECK(texts[0].first == "part");
    REQUIRE(texts[0].second.size() == report["parts"].size());
    for (std::size_t i = 0; i < texts[0].second.size(); ++i) {
      CHECK(report["parts"][i]["part"] == texts[0].second[i]);
    }
  }
}

TEST_CASE("attribute draws PNG", "[cli]") {
  const Given given;
  const std::string png = given.folder.at("heads.png");
  const ProgramResult drawn = run_headlight(changed(given.base, {"--png", png}));
  if (drawn.exit_code == 0) {
    CHECK(file_contents(png).substr(0, 8) == "\x89PNG\r\n\x1a\n");
  } else {
    CHECK(contains(drawn.err, "librsvg-2.so.2 cannot be loaded"));
  }
}

TEST_CASE("a PNG with Hangul warns when no font has it", "[cli]") {
  const Given given;
  const std::string none = given.folder.write("none.conf", "<fontconfig></fontconfig>\n");
  const auto warned = [&](const std::string& text, const std::string& format) {
    const std::string log =
        run_headlight_on_terminal(200,
                                  words("attention", given.model, "--text", text, "--out",
                                        given.folder.at("maps"), "--format", format),
                                  {"FONTCONFIG_FILE=" + none})
            .err;
    return has_parts(log, {"no font on this machine has \uAC00", "fonts-noto-cjk"});
  };
  const bool has_png =
      run_headlight(changed(given.base, {"--png", given.folder.at("p.png")})).exit_code == 0;
  CHECK(warned("\uAC00 b", "png") == has_png);
  CHECK_FALSE(warned("a b", "png"));
  CHECK_FALSE(warned("\uAC00 b", "svg"));
}

TEST_CASE("attribute averages the parts over many prompts and gives intervals", "[cli]") {
  const Given given;
  const std::string npz = given.folder.at("means.npz");
  const std::string svg = given.folder.at("means.svg");
  const Arguments many{"attribute", given.model, "--pairs", given.pairs("two in it")};
  const Json report = report_of(changed(many, {"--npz", npz, "--svg", svg}));
  check_json(report, R"({"pairs": 2, "prompts#": 2, "prompts/1/answer/token": "e"})");
  CHECK(report["caution"].is_string());
  const Json second =
      report_of(words("attribute", given.model, "--text 'two in it' --answer e --wrong f"));
  CHECK(report["prompts"][1]["logit"] == second["logit"]);
  for (const Json& part : report["parts"]) {
    CHECK(part["logit_low"] <= part["logit"]);
    CHECK(part["logit_high"] >= part["logit"]);
    CHECK(part["reliable"] == false);
  }
  CHECK(npz_arrays(npz).at("prompts").shape() == Shape{2, std::ssize(report["parts"])});
  CHECK(contains(file_contents(svg), "mean of 2 prompts"));
  CHECK(output_of(many).starts_with("caution: "));
  check_refused(changed(many, {"--by", "source"}),
                {"--pairs: ", "6 tokens in prompt 1 and 9 in prompt 2"});
  const Arguments alike = changed(many, {"--pairs", given.pairs("two in"), "--by", "source"});
  CHECK(report_of(alike)["sources"].size() == 6);
}

TEST_CASE("attribute compares sources of texts of different lengths by groups", "[cli]") {
  const Given given;
  const std::string npz = given.folder.at("groups.npz");
  const Arguments many =
      words("attribute", given.model, "--by source --group first=0-1 --group end=last --pairs",
            given.pairs("two in it"), "--npz", npz, "--html", given.folder.at("groups.html"));
  const Json sources = report_of(many)["sources"];
  REQUIRE(sources.size() == 3);
  CHECK(sources[1]["group"] == "end");
  CHECK(sources[2]["group"] == "(others)");
  CHECK(npz_arrays(npz).at("sources").shape() == Shape{2, 2, 3});
  CHECK(contains(file_contents(npz), "group.npy"));
  check_parts(output_of(many), {"all heads from group", "(others)"});
  check_refused(changed(many, {"--by", "head"}), {"--group: needs --by source"});
  check_refused(changed(many, words("--group a=0 --group b=0")), {"token 0 in 'a' and 'b'"});
}

TEST_CASE("attribute explains the model as changed by an intervention", "[cli]") {
  const Given given;
  const Json report =
      report_of(changed(given.base, {"--by", "source", "--intervene", "scale 0.1 0.5"}));
  CHECK(sum_of(report["parts"]) == Approx(report["logit"]));
  CHECK(report["logit"] != report_of(given.base)["logit"]);
  const Json& parts = report["parts"];
  CHECK(std::any_of(parts.begin(), parts.end(), [](const Json& part) {
    return part["part"] == "0.1.intervention" && part["logit"] != 0;
  }));
}
}  // namespace attribute_test
