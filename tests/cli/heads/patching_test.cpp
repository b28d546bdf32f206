#include "cli/heads/head_tasks.h"
#include "support/test.h"

namespace cli_patching_test {
// `patch` and `circuit`: their tasks, and the files that they write.

using Json = nlohmann::json;

TEST_CASE("patch compares two texts head by head and draws the result", "[cli]") {
  const HeadTasks given;
  const Json report = report_of(given.on_pair("patch", "--wrong #121 --svg " + given.at("a.svg")));
  check_json(report, R"({"answer/id": 120, "wrong/token": "y", "metric": "logit_difference",
                         "cells/0/layer": 0, "cells/0/item": 0})");
  CHECK(report["clean_difference"] != report["corrupt_difference"]);
  CHECK(report["cells"][0]["recovered"].is_number());
  CHECK(contains(given.contents("a.svg"), "Recovered by z"));
  CHECK(contains(output_of(given.on_pair("patch")), "recovered"));
}

TEST_CASE("patch replaces activations at any point for many pairs and along a path", "[cli]") {
  const HeadTasks given;
  const Json many = report_of(words("patch", given.model, "--pairs", given.pairs,
                                    "--point resid_pre --method both --svg", given.at("a.svg")));
  check_json(many, R"({"pairs": 2, "by": "position", "cells#": 12, "cells/7/layer": 1,
                       "cells/7/position": 1})");
  CHECK(many["cells"][0]["recovered"] >= many["cells"][0]["recovered_low"]);
  CHECK(std::abs(many["correlation"].get<double>()) <= 1);
  CHECK(contains(given.contents("a.svg"), "Recovered by resid_pre"));

  CHECK(report_of(given.on_pair("patch", "--by head"))["cells"] ==
        report_of(given.on_pair("patch"))["cells"]);
  CHECK(contains(output_of(given.on_pair("patch", "--point z --limit 1")),
                 "(the strongest 1 of 4; --limit 0 shows all)"));
}

TEST_CASE("patch measures answers of several tokens", "[cli]") {
  const HeadTasks given;
  const std::string answers = "--answer xyz --wrong '#120 #57' ";
  const Json heads = report_of(given.on_pair("patch", answers));
  check_json(heads, R"({"metric": "log_probability_difference", "answer/ids#": 3,
                        "answer/token": "xyz", "wrong/token": "x9"})");
  CHECK_FALSE(heads["answer"].contains("id"));
  CHECK(contains(output_of(given.on_pair("patch", answers)),
                 "log-probability of 'xyz' minus that of 'x9': clean "));
  for (const Arguments& other :
       {given.on_pair("patch", answers + "--by head"), given.on_pair("circuit", answers)}) {
    CHECK(report_of(other)["clean_difference"] == Approx(heads["clean_difference"]).margin(1e-5));
  }
  CHECK(report_of(given.on_pair("paths", answers + "--receiver logits"))["metric"] ==
        heads["metric"]);
}

TEST_CASE("patch compares texts of different lengths by groups of tokens", "[cli]") {
  const HeadTasks given;
  const std::string line =
      R"({"clean": "an owl and an owl", "corrupt": "an ant and an owl", "answer": "x", )"
      R"("wrong": "yz", "groups": {"first": "owl#1", "verb": [7, 8], "end": "last"}})"
      "\n";
  const std::string pairs = given.folder.write(
      "pairs.jsonl", line + R"({"clean": "two in", "corrupt": "one in", "answer": "e", )"
                            R"("wrong": "f", "groups": {"verb": "in", "first": 0, "end": "4-5"}})");
  const std::string npz = given.at("groups.npz");
  const Arguments base =
      words("patch", given.model, "--pairs", pairs, "--point resid_pre --by group --npz", npz);
  const Json found = report_of(base);
  check_json(found, R"({"by": "group", "cells#": 6, "cells/0/group": "first",
                        "cells/0/position": null, "cells/2/group": "end"})");
  const TensorMap arrays = npz_arrays(npz);
  CHECK(arrays.size() == 4);  // recovered with its ends, and difference
  CHECK(arrays.at("recovered").shape() == Shape{2, 3});
  CHECK(arrays.at("recovered").to_vector()[4] == found["cells"][4]["recovered"].get<double>());
  CHECK(contains(file_contents(npz), "group.npy"));
  CHECK(contains(output_of(base), "resid_pre.0 @first"));
  const std::string bad = given.folder.write(
      "bad.jsonl", line + R"({"clean": "a", "corrupt": "b", "answer": "x", "wrong": "y", )"
                          R"("groups": {"end": true}})");
  check_refused(changed(base, {"--pairs", bad}),
                {"bad.jsonl: line 2: groups: \"end\": expected a text, a position"});
  CHECK(report_of(changed(base, {"--pairs", bad, "--by", "head"}))["pairs"] == 2);
  CHECK(report_of({"circuit", given.model, "--pairs", bad})["pairs"] == 2);
}

TEST_CASE("a group of tokens is given by its text or by its positions", "[cli]") {
  const HeadTasks given;
  const Arguments base = words("patch", given.model,
                               "--clean 'an owl and an owl' --corrupt 'an ant and an owl' "
                               "--answer x --wrong y");
  const auto with = [&](const std::string& options) {
    return changed(base, split_words("--group " + options));
  };
  const Json by_text = report_of(with("second=owl#2 --by head,group"));
  CHECK(by_text["by"] == "head,group");
  CHECK(by_text["cells"] == report_of(with("second=14-16 --by head,group"))["cells"]);
  CHECK(report_of(with("a=0,last"))["by"] == "group");
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"owl", "expected NAME=TEXT or NAME=POSITIONS, got 'owl'"},
           {"a=owl", "'owl' appears 2 times"},
           {"a=owl#3", "expected 'owl#1' to #2, got #3"},
           {"a=cat", "expected words of the clean text"},
           {"a=5-17", "expected positions from 0 to 16, got 5-17"},
           {"a=1 --by head", "needs by group"}}) {
    check_refused(with(options), {"--group: " + message});
  }
}

TEST_CASE("paths names the heads that share a key", "[cli]") {
  const TemporaryFolder folder;
  const GptConfig config{
      .vocab_size = 257, .block_size = 16, .n_layer = 2, .n_head = 4, .n_embd = 16, .n_kv_head = 2};
  const Arguments base = words("paths", save_model(folder, "model", Gpt(config)),
                               "--clean 'a line' --corrupt 'b line' --answer x --wrong y "
                               "--sender 0.1 --receiver");
  CHECK(report_of(changed(base, {"1.3.k"}))["receiver"] == "k of 1.2-3");
  CHECK(report_of(changed(base, {"1.3.q"}))["receiver"] == "q of 1.3");
  CHECK(contains(output_of(changed(base, {"1.0.v"})), "paths to v of 1.0-1\n"));
  const Json one = report_of(changed(base, {"1.3.k"}));
  CHECK(one["paths"][0]["sender"] == "0.1");
}

TEST_CASE("results are written as pictures, arrays and pages under the same options", "[cli]") {
  const HeadTasks given;
  const Arguments files =
      words("--npz", given.at("r.npz"), "--html", given.at("r.html"), "--svg", given.at("r.svg"));
  const auto arrays_by = [&](const Arguments& command) {
    output_of(changed(command, files));
    CHECK(contains(given.contents("r.html"), "id=\"grids\""));
    CHECK(contains(given.contents("r.svg"), "</svg>"));
    std::string names;
    for (const auto& [name, tensor] : read_npz(given.at("r.npz"))) {
      names += concat_text(name, " ", tensor.shape(), ", ");
    }
    return names;
  };
  struct Case {
    Arguments command;
    std::string arrays;
    std::string axis;  // a name in the file of arrays
  };
  for (const Case& one : std::vector<Case>{
           {given.on_pair("patch"), "recovered [2, 2], difference [2, 2], ", "head.npy"},
           {given.on_pair("patch", "--by head,position --method both"),
            "recovered [4, 6], attribution [4, 6], difference [4, 6], ", "head.npy"},
           {given.on_pair("patch", "--by layer"), "recovered [2], difference [2], ", ""},
           {given.on_text("ablate", "--joint 2"),
            "rise [2, 2], rise_low [2, 2], rise_high [2, 2], pair_rise [2, 2], "
            "pair_rise_low [2, 2], pair_rise_high [2, 2], pair_beyond [2, 2], "
            "pair_beyond_low [2, 2], pair_beyond_high [2, 2], ",
            ""},
           {given.on_text("ablate", "--by mlp"), "rise [2], rise_low [2], rise_high [2], ", ""},
           {given.on_text("lens"), "loss [3], accuracy [3], entropy [3], kl [3], ", ""}}) {
    CHECK(arrays_by(one.command) == one.arrays);
    CHECK(contains(given.contents("r.npz"), one.axis));
  }
  const std::string circuit = arrays_by(given.on_pair("circuit"));
  check_parts(circuit, {"score [", ", kept [", ", curve_edges ["});
  CHECK(contains(given.contents("r.npz"), "into.npy"));
  CHECK(contains(given.contents("r.html"), "data-node=\"logits\""));
  CHECK(arrays_by(words("lens", given.model, "--text 'one line' --top_k 2"))
            .starts_with("probability [3, 8], "));
  CHECK(contains(given.contents("r.npz"), "token_labels.npy"));
  CHECK(arrays_by(given.on_pair("paths", "--receiver logits")) ==
        "recovered [7], recovered_low [7], recovered_high [7], difference [7], heads [2, 2], "
        "heads_low [2, 2], heads_high [2, 2], ");
  check_refused(given.on_pair("circuit", "--npz " + given.text), {"--npz: ", "is not a .npz file"});
}

TEST_CASE("patch and circuit measure other metrics by name", "[cli]") {
  const HeadTasks given;
  const auto with = [&](const std::string& command, const std::string& options) {
    return report_of(changed(words(command, given.model, "--clean 'a line' --corrupt 'b line'"),
                             split_words(options)));
  };
  const Json loss = with("patch", "--answer x --metric loss");
  check_json(loss, R"({"metric": "loss", "task": null, "caution": null})");
  const double value = loss["clean_difference"];
  const Json probability = with("patch", "--answer x --metric probability --by head");
  CHECK(probability["pairs_done"].is_null());
  CHECK(probability["clean_difference"] == Approx(std::exp(-value)).epsilon(1e-5));
  // Without answers; both texts may have one likeliest token.
  CHECK(with("patch", "--metric kl")["clean_difference"] < 1e-6);
  CHECK(contains(
      output_of(words("patch", given.model, "--clean 'a line' --corrupt 'b line' --metric kl")),
      "KL divergence from the clean text's prediction, in nats"));
  const Json circuit = with("circuit", "--answer x --metric log_probability");
  CHECK(circuit["metric"] == "log_probability");
  CHECK(circuit["clean_difference"] == Approx(-value).epsilon(1e-5));
}

TEST_CASE("patch improves attribution and draws it against patching", "[cli]") {
  const HeadTasks given;
  const auto attribution = [&](const std::string& more) {
    return report_of(given.on_pair("patch", "--point q --by head --method both " + more))["cells"];
  };
  const Json plain = attribution("--scatter " + given.at("a.svg"));
  CHECK(attribution("--qk_fix") != plain);
  CHECK(attribution("--grad_drop") != plain);
  CHECK(contains(given.contents("a.svg"), "Attribution against patching"));
}

TEST_CASE("circuit reports the edges of a task and their faithfulness and draws them", "[cli]") {
  const HeadTasks given;
  const Json found =
      report_of(given.on_pair("circuit", "--faithfulness 0.95 --svg " + given.at("a.svg") +
                                             " --curve " + given.at("curve.svg")));
  CHECK(found["faithfulness"] >= 0.95);
  CHECK(found["kept"] == found["circuit"].size());
  CHECK(found["curve"].back()["faithfulness"] == Approx(1).epsilon(1e-3));
  CHECK(found["curve"].back()["edges"] == found["edges"]);
  CHECK(contains(given.contents("a.svg"), ">logits</text>"));
  CHECK(contains(given.contents("curve.svg"), "faithfulness"));
  CHECK(report_of(given.on_pair("circuit", "--edges 3 --steps 1"))["kept"] <= 3);
  CHECK(contains(output_of(given.on_pair("circuit")), "circuit: "));
}

TEST_CASE("circuit cuts edges by means and compares with random edges", "[cli]") {
  const HeadTasks given;
  const Arguments base = words("circuit", given.model, "--edges 5 --pairs", given.pairs);
  check_json(report_of(base), R"({"random": null, "ablation": "corrupt"})");
  const Json mean = report_of(changed(base, words("--ablation mean --random_sets 3")));
  CHECK(mean["ablation"] == "mean");
  CHECK(mean["random"]["low"] <= mean["random"]["high"]);
  CHECK(contains(output_of(changed(base, {"--random_sets", "2"})), "as many random edges: "));
}
}  // namespace cli_patching_test
