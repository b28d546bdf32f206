#include "support/test.h"

namespace heads_patching_test {
// `patch` and `circuit` with groups and answers of several tokens, and the files that they write.

using Json = nlohmann::json;

// Model directory and a text beside it.
struct Material {
  Material()
      : model(folder.at("model")),
        text(folder.write("text.txt", "one line of text\nanother line\n\nthe third\nend\n")) {
    fs::create_directory(model);
    write_model_files(model, *lively_model(257, 32), ByteTokenizer());
  }

  TemporaryFolder folder;
  std::string model;
  std::string text;
};

TEST_CASE("patch measures answers of several tokens", "[cli]") {
  const Material given;
  const Arguments one{"patch",  given.model, "--clean", "a line",  "--corrupt",
                      "b line", "--answer",  "xyz",     "--wrong", "#120 #57"};
  const Json heads = report_of(one);
  CHECK(heads["metric"] == "log_probability_difference");
  CHECK(heads["answer"]["ids"].size() == 3);
  CHECK(heads["answer"]["token"] == "xyz");
  CHECK_FALSE(heads["answer"].contains("id"));
  CHECK(heads["wrong"]["token"] == "x9");
  CHECK(contains(output_of(one), "log-probability of 'xyz' minus that of 'x9': clean "));
  const Json grid = report_of(changed(one, {"--by", "head"}));
  CHECK(grid["clean_difference"].get<double>() ==
        Approx(heads["clean_difference"].get<double>()).margin(1e-5));
  CHECK(report_of(changed(one, {"--path", "0.1:1.0.k"}))["metric"] == heads["metric"]);
  Arguments circuit = one;
  circuit[0] = "circuit";
  CHECK(report_of(circuit)["clean_difference"].get<double>() ==
        Approx(heads["clean_difference"].get<double>()).margin(1e-5));
}

TEST_CASE("patch compares texts of different lengths by groups of tokens", "[cli]") {
  const Material given;
  const std::string line =
      "{\"clean\": \"an owl and an owl\", \"corrupt\": \"an ant and an owl\", \"answer\": \"x\", "
      "\"wrong\": \"yz\", \"groups\": {\"first\": \"owl#1\", \"verb\": [7, 8], \"end\": "
      "\"last\"}}\n";
  const std::string pairs = given.folder.write(
      "pairs.jsonl",
      line +
          "{\"clean\": \"two in\", \"corrupt\": \"one in\", \"answer\": \"e\", \"wrong\": \"f\","
          " \"groups\": {\"verb\": \"in\", \"first\": 0, \"end\": \"4-5\"}}\n");
  const std::string npz = given.folder.at("groups.npz");
  const Arguments base =
      words("patch", given.model, "--pairs", pairs, "--point resid_pre --by group --npz", npz);
  const Json found = report_of(base);
  CHECK(found["by"] == "group");
  REQUIRE(found["cells"].size() == 2 * 3);
  CHECK(found["cells"][0]["group"] == "first");
  CHECK(found["cells"][0]["position"].is_null());
  CHECK(found["cells"][2]["group"] == "end");
  const NamedTensors arrays = read_npz(npz);
  REQUIRE(arrays.size() == 3);
  CHECK(arrays[0].first == "recovered");
  CHECK(arrays[0].second.shape() == Shape{2, 3});
  CHECK(arrays[0].second.to_vector()[4] == found["cells"][4]["recovered"].get<double>());
  CHECK(arrays[1].first == "recovered_low");
  CHECK(arrays[2].first == "recovered_high");
  CHECK(contains(file_contents(npz), "group.npy"));
  CHECK(contains(output_of(base), "resid_pre.0 @first"));

  const Arguments one{"patch",     given.model,
                      "--clean",   "an owl and an owl",
                      "--corrupt", "an ant and an owl",
                      "--answer",  "x",
                      "--wrong",   "y"};
  const auto with_group = [&](const std::string& group) {
    return changed(one, {"--group", group});
  };
  const Json by_text = report_of(changed(with_group("second=owl#2"), {"--by", "head,group"}));
  CHECK(by_text["by"] == "head,group");
  const Json by_position = report_of(changed(with_group("second=14-16"), {"--by", "head,group"}));
  CHECK(by_text["cells"] == by_position["cells"]);
  CHECK(report_of(with_group("a=0,last"))["by"] == "group");
  check_refused(with_group("owl"), {"--group: expected NAME=TEXT or NAME=POSITIONS, got 'owl'"});
  check_refused(with_group("a=owl"), {"--group: 'owl' appears 2 times", "'owl#1'"});
  check_refused(with_group("a=owl#3"), {"--group: expected 'owl#1' to #2, got #3"});
  check_refused(with_group("a=cat"), {"--group: expected words of the clean text", "'cat'"});
  check_refused(with_group("a=5-17"), {"--group: expected positions from 0 to 16, got 5-17"});
  check_refused(changed(with_group("a=1"), {"--by", "head"}), {"--group: needs --by group"});
  const std::string bad = given.folder.write(
      "bad.jsonl", line +
                       "{\"clean\": \"a\", \"corrupt\": \"b\", \"answer\": \"x\", \"wrong\": "
                       "\"y\", \"groups\": {\"end\": true}}\n");
  check_refused(changed(base, {"--pairs", bad}),
                {"bad.jsonl: line 2: key \"groups\": \"end\": expected a text, a position"});
  const Arguments unused{"--pairs", bad, "--by", "head", "--npz", given.folder.at("heads.npz")};
  CHECK(report_of(changed(base, unused))["pairs"] == 2);
  CHECK(report_of({"circuit", given.model, "--pairs", bad})["pairs"] == 2);
}

TEST_CASE("patch names the heads that share a key", "[cli]") {
  const TemporaryFolder folder;
  const std::string model = folder.at("model");
  fs::create_directory(model);
  GptConfig config{
      .vocab_size = 257, .block_size = 16, .n_layer = 2, .n_head = 4, .n_embd = 16, .n_kv_head = 2};
  write_model_files(model, Gpt(config), ByteTokenizer());
  const Arguments base{"patch",  model,      "--clean", "a line",  "--corrupt",
                       "b line", "--answer", "x",       "--wrong", "y"};
  CHECK(report_of(changed(base, {"--path", "0.1:1.3.k"}))["to"] == "1.2-3");
  CHECK(report_of(changed(base, {"--path", "0.1:1.3.q"}))["to"] == "1.3");
  CHECK(output_of(changed(base, {"--path", "0.1:1.0.v"})).find("through the v of 1.0-1 recovers") !=
        std::string::npos);
}

TEST_CASE("results are written as pictures, arrays and pages under the same options", "[cli]") {
  const Material given;
  const auto names_of = [](const std::string& path) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : read_npz(path)) {
      names.push_back(concat_text(name, " ", tensor.shape()));
    }
    return names;
  };
  const std::string npz = given.folder.at("r.npz");
  const std::string html = given.folder.at("r.html");
  const std::string svg = given.folder.at("r.svg");
  const auto run = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"--npz", npz, "--html", html, "--svg", svg});
    output_of(arguments);
    CHECK(contains(file_contents(html), "id=\"results\""));
    CHECK(contains(file_contents(svg), "</svg>"));
    return names_of(npz);
  };
  using Names = std::vector<std::string>;
  const Arguments pair{"--clean", "a line", "--corrupt", "b line", "--answer", "x", "--wrong", "y"};
  const auto command = [&](const std::string& name, const Arguments& more) {
    Arguments arguments{name, given.model};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  CHECK(run(command("patch", pair)) == Names{"recovered [2, 2]", "difference [2, 2]"});
  CHECK(run(changed(command("patch", pair), {"--by", "head,position", "--method", "both"})) ==
        Names{"recovered [4, 6]", "attribution [4, 6]"});
  CHECK(contains(file_contents(npz), "head.npy"));
  CHECK(run(changed(command("patch", pair), {"--by", "layer"})) == Names{"recovered [2]"});
  const Names circuit = run(command("circuit", pair));
  REQUIRE(circuit.size() == 4);
  CHECK(circuit[0].starts_with("score ["));
  CHECK(circuit[1].starts_with("kept ["));
  CHECK(circuit[2].starts_with("curve_edges ["));
  CHECK(contains(file_contents(npz), "into.npy"));
  CHECK(contains(file_contents(html), "data-node=\"logits\""));
  const Arguments text{"--data", given.text, "--documents", "line"};
  CHECK(run(changed(command("ablate", text), {"--pairs", "2"})) ==
        Names{"rise [2, 2]", "rise_low [2, 2]", "rise_high [2, 2]", "pair_rise [2, 2]",
              "pair_rise_low [2, 2]", "pair_rise_high [2, 2]", "pair_beyond [2, 2]",
              "pair_beyond_low [2, 2]", "pair_beyond_high [2, 2]"});
  CHECK(run(changed(command("ablate", text), {"--each", "mlp"})) ==
        Names{"rise [2]", "rise_low [2]", "rise_high [2]"});
  CHECK(run(command("lens", text)) == Names{"loss [3]", "accuracy [3]", "entropy [3]", "kl [3]"});
  CHECK(run(command("lens", {"--text", "one line", "--top_k", "2"})).front() ==
        "probability [3, 8]");
  CHECK(contains(file_contents(npz), "token_labels.npy"));
  check_refused(changed(command("patch", pair), {"--path", "0.1:1.0.k", "--svg", svg}),
                {"--svg: cannot be combined with --path"});
  check_refused(changed(command("circuit", pair), {"--npz", given.text}),
                {"--npz: ", "is not a .npz file"});
}

TEST_CASE("patch and circuit measure other metrics by name", "[cli]") {
  const Material given;
  const Arguments one{"patch",  given.model, "--clean", "a line",  "--corrupt",
                      "b line", "--answer",  "x",       "--wrong", "y"};
  const Json plain = report_of(one);
  CHECK(plain["metric"] == "logit_difference");
  const Arguments answer{"patch",     given.model, "--clean",  "a line",
                         "--corrupt", "b line",    "--answer", "x"};
  const Json loss = report_of(changed(answer, {"--metric", "loss"}));
  CHECK(loss["metric"] == "loss");
  CHECK(loss["task"].is_null());
  CHECK(loss["caution"].is_null());
  const Json probability = report_of(changed(answer, {"--metric", "probability", "--by", "head"}));
  CHECK(probability["pairs_done"].is_null());
  CHECK(probability["clean_difference"].get<double>() ==
        Approx(std::exp(-loss["clean_difference"].get<double>())).epsilon(1e-5));
  // Without answers; both texts may have one likeliest token.
  const Arguments divergence{"patch",     given.model, "--clean",  "a line",
                             "--corrupt", "b line",    "--metric", "kl"};
  CHECK(report_of(divergence)["clean_difference"].get<double>() < 1e-6);
  CHECK(contains(output_of(divergence), "KL divergence from the clean text's prediction, in nats"));
  Arguments circuit = answer;
  circuit[0] = "circuit";
  const Json found = report_of(changed(circuit, {"--metric", "log_probability"}));
  CHECK(found["metric"] == "log_probability");
  CHECK(found["clean_difference"].get<double>() ==
        Approx(-loss["clean_difference"].get<double>()).epsilon(1e-5));
}

TEST_CASE("patch improves attribution and draws it against patching", "[cli]") {
  const Material given;
  const std::string svg = given.folder.at("scatter.svg");
  const Arguments one{"patch",    given.model, "--clean",  "a line", "--corrupt", "b line",
                      "--answer", "x",         "--wrong",  "y",      "--point",   "q",
                      "--by",     "head",      "--method", "both"};
  const auto attribution = [&](const Arguments& more) {
    return report_of(changed(one, more))["cells"];
  };
  const Json plain = attribution({"--scatter", svg});
  CHECK(attribution({"--qk_fix"}) != plain);
  CHECK(attribution({"--grad_drop"}) != plain);
  CHECK(contains(file_contents(svg), "Attribution against patching"));
}

TEST_CASE("circuit cuts edges by means and compares with random edges", "[cli]") {
  const Material given;
  const std::string pairs = given.folder.write(
      "pairs.jsonl",
      "{\"clean\": \"a line\", \"corrupt\": \"b line\", \"answer\": \"x\", \"wrong\": \"y\"}\n"
      "{\"clean\": \"two in\", \"corrupt\": \"one in\", \"answer\": \"e\", \"wrong\": \"f\"}\n");
  const Arguments base{"circuit", given.model, "--pairs", pairs, "--edges", "5"};
  const Json plain = report_of(base);
  CHECK(plain["random"].is_null());
  CHECK(plain["ablation"] == "corrupt");
  const Json mean = report_of(changed(base, {"--ablation", "mean", "--random_sets", "3"}));
  CHECK(mean["ablation"] == "mean");
  CHECK(mean["random"]["low"].get<double>() <= mean["random"]["high"].get<double>());
  CHECK(output_of(changed(base, {"--random_sets", "2"})).find("as many random edges: ") !=
        std::string::npos);
}
}  // namespace heads_patching_test
