#include "cli/heads/head_tasks.h"
#include "support/test.h"

namespace head_commands_test {
// `ablate`, `importance` and `prune` with the real program and a model made in memory.

using Json = nlohmann::json;

double loss_of(const std::string& model, const std::string& text) {
  return report_of(words("eval", model, "--data", text, "--documents line"))["loss"];
}

TEST_CASE("ablate reports the rise of the loss for all heads or some heads or pairs", "[cli]") {
  const HeadTasks given;
  const Json all = report_of(given.on_text("ablate"));
  CHECK(all["loss"]["mean"] == Approx(loss_of(given.model, given.text)));
  check_json(all, R"({"mode": "zero", "sequences": 4, "parts#": 4, "parts/1/part": "0.1",
                      "parts/1/layer": 0, "parts/1/index": 1, "pairs#": 0})");
  CHECK(all["tokens"] == file_contents(given.text).size() - 1);  // of which one ends an empty line
  const Json one = report_of(given.on_text("ablate", "--heads 0:1 --mode mean --joint 0"));
  check_json(one, R"({"parts#": 1, "parts/0/part": "0.1"})");
  CHECK(one["parts"][0]["rise"]["mean"] != all["parts"][1]["rise"]["mean"]);
  check_json(report_of(given.on_text("ablate", "--layers 1")),
             R"({"parts#": 2, "parts/0/part": "1.0"})");
  CHECK(report_of(given.on_text("ablate", "--joint 2"))["pairs"].size() == 1);
  check_parts(output_of(given.on_text("ablate", "--joint 2")), {"beyond both alone", "0.1"});
}

TEST_CASE("importance measures heads three ways and compares the rankings", "[cli]") {
  const HeadTasks given;
  const Json report = report_of(given.on_text("importance"));
  CHECK(report["loss"] == Approx(loss_of(given.model, given.text)));
  for (const Json& head : report["heads"]) {
    CHECK(head["sensitivity"]["mean"] > 0);
    CHECK(head["ablation"]["mean"].is_number());
  }
  for (const char* pair : {"sensitivity_taylor", "sensitivity_ablation", "taylor_ablation"}) {
    CHECK(std::abs(report["rank_correlation"][pair].get<double>()) <= 1);
  }
  output_of(
      given.on_text("importance", "--npz " + given.at("a.npz") + " --html " + given.at("a.html")));
  CHECK(contains(given.contents("a.html"), "Sensitivity of the loss to each head"));
  const TensorMap arrays = npz_arrays(given.at("a.npz"));
  CHECK(arrays.size() == 9);
  for (const char* name : {"sensitivity", "taylor", "ablation"}) {
    CHECK(arrays.at(name).shape() == Shape{2, 2});
    CHECK(arrays.at(name).to_vector()[3] == report["heads"][3][name]["mean"].get<double>());
  }
  CHECK_FALSE(
      report_of(given.on_text("importance", "--no_ablation"))["heads"][0].contains("ablation"));
  CHECK(contains(output_of(given.on_text("importance", "--no_ablation")), "rank correlation"));
}

TEST_CASE("prune writes a smaller model that computes as the whole one without its heads",
          "[cli]") {
  const HeadTasks given;
  const std::string out = given.at("small");
  const Json report = report_of(given.on_text("prune", "--heads 0.1 --out " + out));
  CHECK(report["heads"] == Json::array({"0.1"}));
  CHECK(report["kept_heads"] == Json::array({"0.0", "1.0", "1.1"}));
  CHECK(report["parameters"] < report["parameters_before"]);
  CHECK(report["loss_after"] == Approx(loss_of(out, given.text)));
  const Json ablated = report_of(given.on_text("ablate", "--heads 0.1"));
  CHECK(loss_of(out, given.text) - loss_of(given.model, given.text) ==
        Approx(ablated["parts"][0]["rise"]["mean"]).margin(1e-6));
  CHECK(Json::parse(given.contents("small/pruning.json"))["heads"] == report["heads"]);
  CHECK(report_of({"info", out})["heads_of_layers"] == Json::array({1, 2}));
  CHECK(output_of({"info", out}).starts_with("2 layers, 1 and 2 heads"));
  CHECK_FALSE(output_of(words("generate", out, "--prompt a --max_new_tokens 3")).empty());
  // Heads keep their numbers after another pruning and in other commands.
  const std::string other = given.at("other");
  output_of(words("prune", given.model, "--heads 0.0 --out", other));
  check_json(report_of(words("ablate", other, "--data", given.text)),
             R"({"parts/0/part": "0.1", "parts#": 3})");
  check_refused(words("prune", other, "--heads 0.0 --out", given.at("none")),
                {"layer 0 has heads 1 (others were pruned), got 0.0"});
  // The hf export restores all heads, for programs that need equal head counts. Losses agree.
  const std::string full = given.at("full");
  output_of(words("export", out, "--to hf --out", full));
  CHECK(loss_of(full, given.text) == Approx(loss_of(out, given.text)).margin(1e-6));
  CHECK(Json::parse(given.contents("full/config.json"))["model_type"] == "gpt2");
}

TEST_CASE("prune finds the heads to remove and draws the curve and fine-tunes the pruned model",
          "[cli]") {
  const HeadTasks given;
  const std::string out = given.at("small");
  const Json report = report_of(
      given.on_text("prune", "--keep 1% --finetune_iters 20 --learning_rate 1e-3 --out " + out));
  CHECK(report["heads"].size() + 1 == report["curve"].size());
  CHECK(report["curve"].back()["kept"] == report["kept"]);
  CHECK(report["curve"].back()["loss"] == Approx(report["loss_after"]).margin(1e-5));
  CHECK(report["loss_finetuned"] < report["loss_after"]);
  CHECK(loss_of(out, given.text) == Approx(report["loss_finetuned"]));
  CHECK(contains(given.contents("small/curve.svg"), "</svg>"));
  CHECK(given.contents("small/curve.csv").starts_with("kept,loss,removed\n"));
  CHECK(contains(log_of(given.on_text("prune", "--keep 0 --out " + given.at("few"))),
                 "--keep 0: every layer keeps one head, so 2 stay"));
}

TEST_CASE("ablate and importance warn when intervals rest on too few sequences", "[cli]") {
  const HeadTasks given;
  std::string many;
  for (int i = 0; i < 12; ++i) {
    many += "line " + std::to_string(i) + "\n";
  }
  const std::string enough = given.folder.write("many.txt", many);
  for (const std::string command : {"ablate", "importance"}) {
    INFO(command);
    const std::string text = output_of(given.on_text(command));
    CHECK(text.starts_with("caution: intervals over 4 sequences are too narrow"));
    CHECK(contains(text, ") ?\n"));
    CHECK(report_of(given.on_text(command))["caution"].is_string());
    const Arguments significant = given.on_text(command, "--data " + enough);
    CHECK(report_of(significant)["caution"].is_null());
    CHECK_FALSE(contains(output_of(significant), "?"));
  }
}

TEST_CASE("patch and attribute warn first when the model does not solve the task", "[cli]") {
  const HeadTasks given;
  const std::string svg = given.at("patch.svg");
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
    CHECK(text.starts_with("caution: ") == !clear);
    CHECK(contains(text, " ?\n") == !clear);
    CHECK(contains(file_contents(svg), "The model ") == !clear);
    CHECK(report["clean_next"]["probability"] > 0);
  }
  CHECK(done <= 1);
  const Arguments attribute = words("attribute", given.model, "--text abcde");
  const Json attribution = report_of(attribute);
  CHECK(attribution["answer"] == attribution["likeliest"]);
  CHECK(contains(attribution["caution"].get<std::string>(), "tokens to attend to"));
  const std::string other = attribution["answer"]["id"] == 'f' ? "#121" : "#102";
  const std::string text = output_of(changed(attribute, {"--answer", other}));
  CHECK(text.starts_with("caution: the model's next token here is"));
  CHECK(contains(text, " ?\n"));
}

TEST_CASE("an intervention changes what eval, generate, heads and attention compute", "[cli]") {
  const HeadTasks given;
  const Arguments change{"--intervene", "off 0.1"};
  const Json ablated = report_of(given.on_text("ablate", "--heads 0.1"));
  const double loss = report_of(changed(given.on_text("eval"), change))["loss"];
  CHECK(loss - loss_of(given.model, given.text) == Approx(ablated["parts"][0]["rise"]["mean"]));

  const Arguments generate =
      words("generate", given.model, "--prompt one --max_new_tokens 8 --temperature 0");
  const Arguments off = changed(generate, {"--intervene", "off ln_final @2-"});
  const std::string zeros(8, '\0');  // zero logits select token 0
  CHECK(report_of(off)["text"] == zeros);
  CHECK(report_of(changed(off, {"--no_cache"}))["text"] == zeros);
  CHECK(report_of(generate)["text"] != zeros);

  report_of(changed(given.on_text("heads", "--out " + given.at("scores")), change));
  CHECK(Json::parse(given.contents("scores/heads.json"))["model_fingerprint"] == "");
  const auto map_of = [&](const Arguments& more) {
    output_of(changed(
        words("attention", given.model, "--text 'one line' --format npz --out", given.at("maps")),
        more));
    return given.contents("maps/attention.npz");
  };
  CHECK(map_of({}) != map_of({"--intervene", "off attn_scores.0.1"}));
  check_refused(given.on_text("eval", "--intervene 'off 9.1'"),
                {"--intervene: the model has layers 0 to 1, got 9.1"});
}

TEST_CASE("ablate takes any parts alone or together or every part of a kind", "[cli]") {
  const HeadTasks given;
  const double loss = loss_of(given.model, given.text);
  const auto rise_without = [&](const std::string& targets) -> double {
    return report_of(given.on_text("eval", "--intervene 'off " + targets + "'"))["loss"]
               .get<double>() -
           loss;
  };
  const Json sets = report_of(given.on_text("ablate", "--parts '0.1, mlp.1' --parts layer.0"));
  CHECK(sets["loss"]["mean"] == Approx(loss));
  check_json(sets, R"({"parts#": 2, "parts/0/part": "0.1, mlp.1", "by": null})");
  CHECK(sets["parts"][0]["targets"] == Json::array({"z.0.1", "mlp_out.1"}));
  CHECK(sets["parts"][0]["rise"]["mean"] == Approx(rise_without("0.1, mlp.1")).margin(1e-6));
  const Json layers = report_of(given.on_text("ablate", "--by layer"));
  REQUIRE(layers["parts"].size() == 2);
  CHECK(layers["parts"][0]["rise"] == sets["parts"][1]["rise"]);
  CHECK(layers["parts"][1]["rise"]["mean"] == Approx(rise_without("layer.1")).margin(1e-6));
  const Json means = report_of(given.on_text("ablate", "--by mlp --mode mean"));
  CHECK(means["mode"] == "mean");
  CHECK(means["parts"][1]["rise"] != layers["parts"][1]["rise"]);
  check_parts(output_of(given.on_text("ablate", "--by neuron --layers 1 --limit 3")),
              {"(the strongest 3 of ", "neuron.1."});
}

TEST_CASE("ablate reads a text from the command line and draws the results", "[cli]") {
  const HeadTasks given;
  const std::string file = given.folder.write("one.txt", "one line of text");
  const Arguments base =
      words("ablate", given.model, "--text 'one line of text' --svg", given.at("a.svg"));
  const Json heads = report_of(base);
  CHECK(heads["tokens"] == 15);
  CHECK(heads == report_of({"ablate", given.model, "--data", file}));
  for (const auto& [options, title] : std::vector<std::pair<std::string, std::string>>{
           {"", "Rise of the loss without each head"},
           {"--by mlp", "Without each mlp"},
           {"--by neuron --layers 0", "neurons, the largest rise first"},
           {"--parts 'mlp.0, mlp.1' --parts 0.0-1", "mlp.0, mlp.1"}}) {
    report_of(changed(base, split_words(options)));
    CHECK(contains(given.contents("a.svg"), title));
  }
}

TEST_CASE("ablate measures other metrics and draws a score against the rises", "[cli]") {
  const HeadTasks given;
  output_of(given.on_text("heads", "--out " + given.at("scores")));
  const Arguments base =
      given.on_text("ablate", "--metric kl --score previous_token --scatter " + given.at("a.svg") +
                                  " --scores " + given.at("scores/heads.json"));
  const Json report = report_of(base);
  CHECK(report["metric"] == "kl");
  CHECK(report["loss"]["mean"] < 1e-6);
  CHECK(report["parts"][0]["rise"]["mean"] > 0);
  CHECK(report["parts"][0]["score"].is_number());
  CHECK(contains(given.contents("a.svg"), "rise of the KL divergence without the head"));
  check_refused(changed(base, {"--score", "nothing"}), {"score: expected a score of"});
}
}  // namespace head_commands_test
