#include "support/test.h"

namespace head_commands_test {
// `ablate`, `importance` and `prune` with the real program and a model made in memory.

using Json = nlohmann::json;

const std::string kText =
    "one line of text\nanother line\n\nthe third, a little longer line\nend\n";

// Model directory and a text beside it.
struct Material {
  Material() : model(folder.at("model")), text(folder.write("text.txt", kText)) {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 32), ByteTokenizer());
  }

  TemporaryFolder folder;
  std::string model;
  std::string text;
};

double loss_of(const std::string& model, const std::string& text) {
  return report_of({"eval", model, "--data", text, "--documents", "line"})["loss"];
}

TEST_CASE("ablate reports the rise of the loss for all heads or some heads or pairs", "[cli]") {
  const Material given;
  const Arguments base{"ablate", given.model, "--data", given.text, "--documents", "line"};
  const Json all = report_of(base);
  CHECK(all["loss"]["mean"].get<double>() == Approx(loss_of(given.model, given.text)));
  CHECK(all["mode"] == "zero");
  CHECK(all["sequences"] == 4);
  CHECK(all["tokens"] == kText.size() - 1);  // one target for each character and line end
  REQUIRE(all["heads"].size() >= 2);
  CHECK(all["heads"][1]["head"] == "0.1");
  Arguments some = base;
  some.insert(some.end(), {"--heads", "0:1", "--mode", "mean", "--pairs", "0"});
  const Json one = report_of(some);
  REQUIRE(one["heads"].size() == 1);
  CHECK(one["heads"][0]["head"] == "0.1");
  CHECK(one["heads"][0]["rise"]["mean"] != all["heads"][1]["rise"]["mean"]);
  Arguments pairs = base;
  pairs.insert(pairs.end(), {"--pairs", "2"});
  CHECK(report_of(pairs)["pairs"].size() == 1);
  const std::string text = output_of(pairs);
  CHECK(contains(text, "beyond both alone"));
  CHECK(contains(text, "0.1"));
}

TEST_CASE("importance measures heads three ways and compares the rankings", "[cli]") {
  const Material given;
  const Arguments base{"importance", given.model, "--data", given.text, "--documents", "line"};
  const Json report = report_of(base);
  CHECK(report["loss"].get<double>() == Approx(loss_of(given.model, given.text)));
  for (const Json& head : report["heads"]) {
    CHECK(head["sensitivity"]["mean"].get<double>() > 0);
    CHECK(head["ablation"]["mean"].is_number());
  }
  for (const char* pair : {"sensitivity_taylor", "sensitivity_ablation", "taylor_ablation"}) {
    CHECK(std::abs(report["rank_correlation"][pair].get<double>()) <= 1);
  }
  const std::string npz = given.folder.at("importance.npz");
  const std::string html = given.folder.at("importance.html");
  output_of(changed(base, {"--npz", npz, "--html", html}));
  CHECK(contains(file_contents(html), "Sensitivity of the loss to each head"));
  const NamedTensors arrays = read_npz(npz);
  for (const auto& [name, tensor] : arrays) {
    CHECK(tensor.shape() == Shape{2, 2});
    const bool is_mean =
        name.find("_low") == std::string::npos && name.find("_high") == std::string::npos;
    for (std::size_t i = 0; is_mean && i < 4; ++i) {
      CHECK(tensor.to_vector()[i] == report["heads"][i][name]["mean"].get<double>());
    }
  }
  CHECK(arrays.size() == 9);
  Arguments quick = base;
  quick.emplace_back("--no_ablation");
  CHECK_FALSE(report_of(quick)["heads"][0].contains("ablation"));
  CHECK(contains(output_of(quick), "rank correlation"));
}

TEST_CASE("prune writes a smaller model that computes as the whole one without its heads",
          "[cli]") {
  const Material given;
  const std::string out = given.folder.at("small");
  const Json report = report_of(words("prune", given.model, "--heads 0.1 --out", out, "--data",
                                      given.text, "--documents line"));
  CHECK(report["heads"] == Json::array({"0.1"}));
  CHECK(report["kept_heads"] == Json::array({"0.0", "1.0", "1.1"}));
  CHECK(report["parameters"].get<Index>() < report["parameters_before"].get<Index>());
  CHECK(report["loss_after"].get<double>() == Approx(loss_of(out, given.text)));
  const Json ablated = report_of(
      {"ablate", given.model, "--data", given.text, "--documents", "line", "--heads", "0.1"});
  CHECK(loss_of(out, given.text) - loss_of(given.model, given.text) ==
        Approx(ablated["heads"][0]["rise"]["mean"].get<double>()).margin(1e-6));
  CHECK(Json::parse(file_contents(out + "/pruning.json"))["heads"] == report["heads"]);
  CHECK(report_of({"info", out})["heads_of_layers"] == Json::array({1, 2}));
  CHECK(output_of({"info", out}).rfind("2 layers, 1 and 2 heads", 0) == 0);
  // Heads keep their numbers after another pruning and in other commands.
  const std::string other = given.folder.at("other");
  output_of({"prune", given.model, "--heads", "0.0", "--out", other});
  const Json left = report_of({"ablate", other, "--data", given.text, "--documents", "line"});
  CHECK(left["heads"][0]["head"] == "0.1");
  CHECK(left["heads"].size() == 3);
  CHECK(run_headlight({"prune", other, "--heads", "0.0", "--out", given.folder.at("none")})
            .err.find("layer 0 has heads 1 (others were pruned), got 0.0") != std::string::npos);
  // The hf export restores all heads, for programs that need equal head counts. Losses agree.
  const std::string full = given.folder.at("full");
  output_of({"export", out, "--to", "hf", "--out", full});
  CHECK(loss_of(full, given.text) == Approx(loss_of(out, given.text)).margin(1e-6));
  CHECK(Json::parse(file_contents(full + "/config.json"))["model_type"] == "gpt2");
  for (const Arguments& arguments :
       {Arguments{"generate", out, "--prompt", "a", "--max_new_tokens", "3"},
        Arguments{"attention", out, "--text", "abc", "--out", given.folder.at("maps")},
        Arguments{"info", out}}) {
    INFO(arguments[0]);
    CHECK_FALSE(output_of(arguments).empty());
  }
}

TEST_CASE("prune finds the heads to remove and draws the curve and fine-tunes the pruned model",
          "[cli]") {
  const Material given;
  const std::string out = given.folder.at("small");
  const Json report =
      report_of(words("prune", given.model, "--keep 1% --data", given.text,
                      "--documents line --out", out, "--finetune_iters 20 --learning_rate 1e-3"));
  CHECK(report["heads"].size() + 1 == report["curve"].size());
  CHECK(report["curve"].back()["kept"] == report["kept"]);
  CHECK(report["curve"].back()["loss"].get<double>() ==
        Approx(report["loss_after"].get<double>()).margin(1e-5));
  CHECK(report["loss_finetuned"].get<double>() < report["loss_after"].get<double>());
  CHECK(loss_of(out, given.text) == Approx(report["loss_finetuned"].get<double>()));
  CHECK(contains(file_contents(out + "/curve.svg"), "</svg>"));
  CHECK(file_contents(out + "/curve.csv").rfind("kept,loss,removed\n", 0) == 0);
}

TEST_CASE("prune warns when every layer must keep a head and more heads stay than asked", "[cli]") {
  const Material given;
  const ProgramResult result = run_headlight(words("prune", given.model, "--keep 0 --data",
                                                   given.text, "--out", given.folder.at("small")));
  REQUIRE(result.exit_code == 0);
  CHECK(contains(result.err, "--keep 0: every layer keeps one head, so 2 stay"));
}

TEST_CASE("patch compares two texts head by head and draws the result", "[cli]") {
  const Material given;
  const std::string svg = given.folder.at("patch.svg");
  const Json report = report_of(words(
      "patch", given.model, "--clean abcde --corrupt axcde --answer f --wrong #121 --svg", svg));
  CHECK(report["answer"]["id"] == 'f');
  CHECK(report["wrong"]["token"] == "y");
  CHECK(report["clean_difference"] != report["corrupt_difference"]);
  CHECK(report["heads"][0]["head"] == "0.0");
  CHECK(report["heads"][0]["recovered"].is_number());
  CHECK(contains(file_contents(svg), "Recovered by each head"));
  CHECK(output_of(words("patch", given.model, "--clean abcde --corrupt axcde --answer f --wrong y"))
            .find("recovered") != std::string::npos);
}

TEST_CASE("attribute splits a logit into the contributions of heads and layers", "[cli]") {
  const Material given;
  const Json report =
      report_of({"attribute", given.model, "--text", "abcde", "--token", "f", "--against", "#120"});
  double sum = 0;
  for (const Json& part : report["parts"]) {
    sum += part["logit"].get<double>();
  }
  CHECK(report["logit"].get<double>() == Approx(sum));
  CHECK(report["position"] == 4);
  CHECK(report["parts"][1]["head"] == "0.0");
  CHECK(contains(output_of({"attribute", given.model, "--text", "abcde"}), "head 0.0"));
}

TEST_CASE("ablate and importance warn when intervals rest on too few sequences", "[cli]") {
  const Material given;
  std::string many;
  for (int i = 0; i < 12; ++i) {
    many += "line " + std::to_string(i) + "\n";
  }
  const std::string enough = given.folder.write("many.txt", many);
  for (const char* command : {"ablate", "importance"}) {
    INFO(command);
    const Arguments few{command, given.model, "--data", given.text, "--documents", "line"};
    const std::string text = output_of(few);
    CHECK(text.rfind("caution: intervals over 4 sequences are too narrow", 0) == 0);
    CHECK(contains(text, ") ?\n"));
    CHECK(report_of(few)["caution"].is_string());
    const Arguments significant{command, given.model, "--data", enough, "--documents", "line"};
    CHECK(report_of(significant)["caution"].is_null());
    CHECK(output_of(significant).find('?') == std::string::npos);
  }
}

TEST_CASE("patch and attribute warn first when the model does not solve the task", "[cli]") {
  const Material given;
  const std::string svg = given.folder.at("patch.svg");
  // The two tasks have swapped answers, so the model solves at most one of them.
  int done = 0;
  for (const auto& [answer, wrong] : {std::pair{"f", "y"}, std::pair{"y", "f"}}) {
    const Arguments task = words("patch", given.model, "--clean abcde --corrupt axcde --answer",
                                 answer, "--wrong", wrong, "--svg", svg);
    const Json report = report_of(task);
    const std::string text = output_of(task);
    const bool clear = report["task"] == "clear";
    done += clear ? 1 : 0;
    CHECK(report["caution"].is_null() == clear);
    CHECK(report["heads"][0]["reliable"] == clear);
    CHECK((text.rfind("caution: ", 0) == 0) == !clear);
    CHECK((text.find(" ?\n") != std::string::npos) == !clear);
    CHECK((file_contents(svg).find("The model ") != std::string::npos) == !clear);
    CHECK(report["clean_next"]["probability"].get<double>() > 0);
  }
  CHECK(done <= 1);
  const Json attribution = report_of({"attribute", given.model, "--text", "abcde"});
  CHECK(attribution["token"] == attribution["likeliest"]);
  CHECK(attribution["caution"].get<std::string>().find("tokens to attend to") != std::string::npos);
  const std::string other = attribution["token"]["id"] == 'f' ? "#121" : "#102";
  const std::string text =
      output_of({"attribute", given.model, "--text", "abcde", "--token", other});
  CHECK(text.rfind("caution: the model's next token here is", 0) == 0);
  CHECK(contains(text, " ?\n"));
}

TEST_CASE("an intervention changes what eval, generate, heads and attention compute", "[cli]") {
  const Material given;
  const std::string change = "off 0.1";
  const Json ablated = report_of(
      {"ablate", given.model, "--data", given.text, "--documents", "line", "--heads", "0.1"});
  const double loss = report_of(words("eval", given.model, "--data", given.text,
                                      "--documents line --intervene", change))["loss"];
  CHECK(loss - loss_of(given.model, given.text) ==
        Approx(ablated["heads"][0]["rise"]["mean"].get<double>()));

  const Arguments generate =
      words("generate", given.model, "--prompt one --max_new_tokens 8 --temperature 0 --json");
  const auto text_of = [&](Arguments arguments) {
    return Json::parse(output_of(arguments))["text"].get<std::string>();
  };
  Arguments off = generate;
  off.insert(off.end(), {"--intervene", "off ln_final @2-"});
  CHECK(text_of(off) == std::string(8, '\0'));  // zero logits select token 0
  CHECK(text_of(generate) != text_of(off));
  off.push_back("--no_cache");
  CHECK(text_of(off) == std::string(8, '\0'));

  const std::string scores = given.folder.at("scores");
  report_of({"heads", given.model, "--text", kText, "--intervene", change, "--out", scores});
  CHECK(Json::parse(file_contents(scores + "/heads.json"))["model_fingerprint"] == "");
  const auto map_of = [&](const Arguments& more) {
    Arguments arguments{"attention", given.model, "--text",
                        "one line",  "--out",     given.folder.at("maps"),
                        "--format",  "npz"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    output_of(arguments);
    return file_contents(given.folder.at("maps/attention.npz"));
  };
  CHECK(map_of({}) != map_of({"--intervene", "off attn_scores.0.1"}));
  CHECK(refusal({"eval", given.model, "--data", given.text, "--intervene", "off 9.1"}) ==
        "error: --intervene: the model has layers 0 to 1, got 9.1");
}

TEST_CASE("patch replaces activations at any point for many pairs and along a path", "[cli]") {
  const Material given;
  const std::string pairs = given.folder.write(
      "pairs.jsonl",
      "{\"clean\": \"a line\", \"corrupt\": \"b line\", \"answer\": \"x\", \"wrong\": \"#89\"}\n\n"
      "{\"clean\": \"two in\", \"corrupt\": \"one in\", \"answer\": \"e\", \"wrong\": \"f\"}\n");
  const std::string svg = given.folder.at("grid.svg");
  const Json many = report_of(
      words("patch", given.model, "--pairs", pairs, "--point resid_pre --method both --svg", svg));
  CHECK(many["pairs"] == 2);
  CHECK(many["by"] == "position");
  REQUIRE(many["cells"].size() == 2 * 6);
  CHECK(many["cells"][7]["layer"] == 1);
  CHECK(many["cells"][7]["position"] == 1);
  CHECK(many["cells"][0]["recovered"].get<double>() >= many["cells"][0]["recovered_low"]);
  CHECK(std::abs(many["correlation"].get<double>()) <= 1);
  CHECK(contains(file_contents(svg), "Recovered by resid_pre"));

  const Arguments one{"patch",  given.model, "--clean", "a line",  "--corrupt",
                      "b line", "--answer",  "x",       "--wrong", "y"};
  const Json heads = report_of(one);
  const Json grid = report_of(changed(one, {"--by", "head"}));
  REQUIRE(grid["cells"].size() == heads["heads"].size());
  CHECK(grid["cells"][3]["recovered"].get<double>() ==
        Approx(heads["heads"][3]["recovered"].get<double>()).margin(1e-4));
  CHECK(output_of(changed(one, {"--point", "z", "--limit", "1"}))
            .find("(the strongest 1 of 4; --limit 0 shows all)") != std::string::npos);
  CHECK(report_of(changed(one, {"--path", "0.1:1.0.k"}))["into"] == "k");
}

TEST_CASE("circuit reports the edges of a task and their faithfulness and draws them", "[cli]") {
  const Material given;
  const std::string svg = given.folder.at("circuit.svg");
  const std::string curve = given.folder.at("curve.svg");
  const Arguments base{"circuit", given.model, "--clean", "a line",  "--corrupt",
                       "b line",  "--answer",  "x",       "--wrong", "y"};
  const Json found =
      report_of(changed(base, {"--faithfulness", "0.95", "--svg", svg, "--curve", curve}));
  CHECK(found["faithfulness"] >= 0.95);
  CHECK(found["kept"] == found["circuit"].size());
  CHECK(found["curve"].back()["faithfulness"].get<double>() == Approx(1).epsilon(1e-3));
  CHECK(found["curve"].back()["edges"] == found["edges"]);
  CHECK(contains(file_contents(svg), ">logits</text>"));
  CHECK(contains(file_contents(curve), "faithfulness"));
  const Json few = report_of(changed(base, {"--edges", "3", "--steps", "1"}));
  CHECK(few["kept"] <= 3);
  CHECK(contains(output_of(base), "circuit: "));
}

TEST_CASE("ablate takes any parts alone or together or every part of a kind", "[cli]") {
  const Material given;
  const Arguments base{"ablate", given.model, "--data", given.text, "--documents", "line"};
  const double loss = loss_of(given.model, given.text);
  const auto loss_without = [&](const std::string& targets) -> double {
    return report_of(words("eval", given.model, "--data", given.text,
                           "--documents line --intervene", "off " + targets))["loss"];
  };
  const Json sets = report_of(changed(base, {"--off", "0.1, mlp.1", "--off", "layer.0"}));
  CHECK(sets["loss"]["mean"].get<double>() == Approx(loss));
  CHECK(sets["heads"].empty());
  REQUIRE(sets["parts"].size() == 2);
  CHECK(sets["parts"][0]["name"] == "0.1, mlp.1");
  CHECK(sets["parts"][0]["targets"] == Json::array({"z.0.1", "mlp_out.1"}));
  CHECK(sets["parts"][0]["rise"]["mean"].get<double>() ==
        Approx(loss_without("0.1, mlp.1") - loss).margin(1e-6));
  const Json layers = report_of(changed(base, {"--each", "layer"}));
  REQUIRE(layers["parts"].size() == 2);
  CHECK(layers["parts"][0]["rise"] == sets["parts"][1]["rise"]);
  CHECK(layers["parts"][1]["rise"]["mean"].get<double>() ==
        Approx(loss_without("layer.1") - loss).margin(1e-6));
  const Json means = report_of(changed(base, {"--each", "mlp", "--mode", "mean"}));
  CHECK(means["mode"] == "mean");
  CHECK(means["parts"][1]["rise"] != layers["parts"][1]["rise"]);
  const std::string table = output_of(changed(base, {"--each", "neuron.1", "--limit", "3"}));
  CHECK(contains(table, "(the largest 3 of "));
  CHECK(contains(table, "neuron.1."));
  CHECK_FALSE(report_of(base).contains("parts"));
}

TEST_CASE("ablate reads a text from the command line and draws the results", "[cli]") {
  const Material given;
  const std::string svg = given.folder.at("rises.svg");
  const Arguments base{"ablate", given.model, "--text", "one line of text", "--svg", svg};
  const std::string file = given.folder.write("one.txt", "one line of text");
  const Json heads = report_of(base);
  CHECK(heads["tokens"] == 15);
  CHECK(heads == report_of({"ablate", given.model, "--data", file}));
  CHECK(contains(file_contents(svg), "Rise of the loss without each head"));
  report_of(changed(base, {"--each", "mlp"}));
  CHECK(contains(file_contents(svg), "Without each mlp"));
  report_of(changed(base, {"--each", "neuron.0"}));
  CHECK(contains(file_contents(svg), "neurons, the largest rise first"));
  report_of(changed(base, {"--off", "mlp.0, mlp.1", "--off", "0.0-1"}));
  CHECK(contains(file_contents(svg), "mlp.0, mlp.1"));
}

TEST_CASE("ablate measures other metrics and draws a score against the rises", "[cli]") {
  const Material given;
  const std::string out = given.folder.at("scores");
  output_of({"heads", given.model, "--data", given.text, "--out", out});
  const std::string svg = given.folder.at("scatter.svg");
  const Json report =
      report_of(words("ablate", given.model, "--data", given.text, "--metric kl --scatter", svg,
                      "--scores", out + "/heads.json", "--score previous_token"));
  CHECK(report["metric"] == "kl");
  CHECK(report["loss"]["mean"].get<double>() < 1e-6);
  CHECK(report["heads"][0]["rise"]["mean"].get<double>() > 0);
  CHECK(contains(file_contents(svg), "rise of the KL divergence without the head"));
  check_refused(words("ablate", given.model, "--data", given.text, "--scatter", svg, "--scores",
                      out + "/heads.json", "--score nothing"),
                {"score: expected a score of"});
}
}  // namespace head_commands_test
