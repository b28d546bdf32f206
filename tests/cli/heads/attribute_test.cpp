#include "headlight/interpret/effects/attribution.h"
#include "support/test.h"

namespace attribute_test {
// `headlight attribute` with the real program and a model made in memory.

using Json = nlohmann::json;

struct Given {
  Given() {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 32), ByteTokenizer());
    base = {"attribute", model, "--text", "one line", "--token", "f", "--against", "#120"};
  }

  std::string pairs(const std::string& second) const {
    return folder.write(
        "pairs.jsonl",
        "{\"clean\": \"a line\", \"corrupt\": \"b line\", \"answer\": \"x\", \"wrong\": \"#89\"}\n"
        "{\"clean\": \"" +
            second + "\", \"corrupt\": \"one in\", \"answer\": \"e\", \"wrong\": \"f\"}\n");
  }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  Arguments base;
};

double sum_of(const Json& parts) {
  double sum = 0;
  for (const Json& part : parts) {
    sum += part["logit"].get<double>();
  }
  return sum;
}

std::map<std::string, Tensor> arrays_of(const std::string& path) {
  std::map<std::string, Tensor> arrays;
  for (const auto& [name, tensor] : read_npz(path)) {
    arrays[name] = tensor;
  }
  return arrays;
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
    CHECK(report["logit"].get<double>() == Approx(logit).epsilon(1e-5));
    CHECK(sum_of(report["parts"]) == Approx(logit).epsilon(1e-5));
    CHECK(contains(file_contents(svg), last));
    const auto arrays = arrays_of(npz);
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
  const Json report = report_of(by_source);
  REQUIRE(report["sources"].size() == 8);
  CHECK(report["sources"][1]["token"] == "n");
  double sum = 0;
  for (const Json& part : report["parts"]) {
    if (part["source"] == 1) {
      CHECK(part["kind"] == "head");
      sum += part["logit"].get<double>();
    }
  }
  CHECK(report["sources"][1]["logit"].get<double>() == Approx(sum));
  const std::string text = output_of(changed(by_source, {"--top", "3"}));
  CHECK(contains(text, "all heads from token"));
  CHECK(contains(text, "(the strongest 3 of 8; --limit 0 shows all)"));

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
  for (const Choice<AttributionBy>& by : kChoices<AttributionBy>) {
    INFO(by.name);
    const Json report = report_of(
        changed(given.base, {"--by", std::string(by.name), "--html", html, "--npz", npz}));
    const std::string page = file_contents(html);
    CHECK(contains(page, "Direct logit attribution"));
    CHECK(contains(page, "by " + std::string(by.name)));
    NamedTexts texts;
    read_npz(npz, &texts);
    REQUIRE(texts.size() == 1);
    CHECK(texts[0].first == "part");
    REQUIRE(texts[0].second.size() == report["parts"].size());
    for (std::size_t i = 0; i < texts[0].second.size(); ++i) {
      CHECK(report["parts"][i]["part"].get<std::string>() == texts[0].second[i]);
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
  const auto warned = [&](const std::string& text, const Arguments& more) {
    const ProgramResult drawn = run_headlight_on_terminal(
        200,
        changed({"attention", given.model, "--text", text, "--out", given.folder.at("maps")}, more),
        {"FONTCONFIG_FILE=" + none});
    return drawn.err.find("no font on this machine has \uAC00") != std::string::npos &&
           drawn.err.find("fonts-noto-cjk") != std::string::npos;
  };
  const bool has_png =
      run_headlight(changed(given.base, {"--png", given.folder.at("p.png")})).exit_code == 0;
  CHECK(warned("\uAC00 b", {"--format", "png"}) == has_png);
  CHECK_FALSE(warned("a b", {"--format", "png"}));
  CHECK_FALSE(warned("\uAC00 b", {"--format", "svg"}));
}

TEST_CASE("attribute averages the parts over many prompts and gives intervals", "[cli]") {
  const Given given;
  const std::string npz = given.folder.at("means.npz");
  const std::string svg = given.folder.at("means.svg");
  const Arguments many{"attribute", given.model, "--pairs", given.pairs("two in it")};
  const Json report = report_of(changed(many, {"--npz", npz, "--svg", svg}));
  CHECK(report["pairs"] == 2);
  CHECK(report["caution"].is_string());
  REQUIRE(report["prompts"].size() == 2);
  const Json first =
      report_of({"attribute", given.model, "--text", "a line", "--token", "x", "--against", "#89"});
  const Json second = report_of(
      {"attribute", given.model, "--text", "two in it", "--token", "e", "--against", "f"});
  CHECK(report["prompts"][1]["logit"] == second["logit"]);
  CHECK(report["prompts"][1]["token"]["token"] == "e");
  for (std::size_t i = 0; i < report["parts"].size(); ++i) {
    const Json& part = report["parts"][i];
    CHECK(part["part"] == first["parts"][i]["part"]);
    CHECK(part["logit"].get<double>() == Approx((first["parts"][i]["logit"].get<double>() +
                                                 second["parts"][i]["logit"].get<double>()) /
                                                2));
    CHECK(part["logit_low"] <= part["logit"]);
    CHECK(part["logit_high"] >= part["logit"]);
    CHECK(part["reliable"] == false);
  }
  CHECK(arrays_of(npz).at("prompts").shape() == Shape{2, std::ssize(report["parts"])});
  CHECK(contains(file_contents(svg), "mean of 2 prompts"));
  CHECK(output_of(many).rfind("caution: ", 0) == 0);
  check_refused(changed(many, {"--by", "source"}),
                {"--pairs: ", "6 tokens in prompt 1 and 9 in prompt 2"});
  const Arguments alike =
      words("attribute", given.model, "--pairs", given.pairs("two in"), "--by source");
  CHECK(report_of(alike)["sources"].size() == 6);
}

TEST_CASE("attribute compares sources of texts of different lengths by groups", "[cli]") {
  const Given given;
  const std::string npz = given.folder.at("groups.npz");
  const Arguments many = words("attribute", given.model, "--pairs", given.pairs("two in it"),
                               "--by source --group first=0-1 --group end=last --npz", npz,
                               "--html", given.folder.at("groups.html"));
  const Json report = report_of(many);
  REQUIRE(report["sources"].size() == 3);
  CHECK(report["sources"][1]["group"] == "end");
  CHECK(report["sources"][2]["group"] == "(others)");
  CHECK(sum_of(report["parts"]) == Approx(report["logit"].get<double>()));
  CHECK(arrays_of(npz).at("sources").shape() == Shape{2, 2, 3});
  CHECK(contains(file_contents(npz), "group.npy"));
  const std::string text = output_of(many);
  CHECK(contains(text, "all heads from group"));
  CHECK(contains(text, "(others)"));
  check_refused(changed(many, {"--by", "head"}), {"--group: needs --by source"});
  check_refused(words("attribute", given.model, "--pairs", given.pairs("two in it"),
                      "--by source --group a=0 --group b=0"),
                {"token 0 in 'a' and 'b'"});
}

TEST_CASE("attribute explains the model as changed by an intervention", "[cli]") {
  const Given given;
  const Json report =
      report_of(changed(given.base, {"--by", "source", "--intervene", "scale 0.1 0.5"}));
  CHECK(sum_of(report["parts"]) == Approx(report["logit"].get<double>()));
  CHECK(report["logit"] != report_of(given.base)["logit"]);
  bool is_named = false;
  for (const Json& part : report["parts"]) {
    is_named = is_named || (part["part"] == "0.1.intervention" && part["logit"] != 0);
    CHECK((part["head"] != "0.1" || part["source"].is_null() || part["logit"] == 0));
  }
  CHECK(is_named);
}

}  // namespace attribute_test
