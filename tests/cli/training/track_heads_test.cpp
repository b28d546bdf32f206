#include "support/test.h"

namespace track_heads_test {
// `headlight train --track_heads` and `headlight heads --over_time` with the real program.

std::string corpus() {
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += "Mina has a red kite, number " + std::to_string(i) + ". The kite flies.\n";
  }
  return text;
}

// Arguments for 12 steps of a tiny model without MLPs.
Arguments training(const std::string& data, const std::string& out, const Arguments& more = {}) {
  Arguments arguments = words("train --data", data, "--out_dir", out,
                              "--n_layer 2 --n_head 2 --n_embd 16 --mlp false --block_size 24 "
                              "--batch_size 4 --repeat_share 0.5 --warmup_iters 2 --max_iters 12 "
                              "--lr_decay_iters 12 --eval_interval 4 --learning_rate 0.01");
  return changed(std::move(arguments), more);
}

std::vector<int> iterations_of(const std::vector<json>& times) {
  std::vector<int> iterations;
  for (const json& time : times) {
    iterations.push_back(time["iteration"].get<int>());
  }
  return iterations;
}

// Line of heads.jsonl for a run with two heads, the second of which becomes an induction head.
std::string time_line(int iteration, double first, double second, double in_context) {
  const auto head = [](int index, double score) {
    return json{{"head", "0." + std::to_string(index)},
                {"layer", 0},
                {"index", index},
                {"verdict", "mixed"},
                {"induction", score},
                {"previous_token", 0.1},
                {"first_token", nullptr}};
  };
  return json{{"iteration", iteration},   {"loss", nullptr},
              {"first_copy_loss", 4.0},   {"second_copy_loss", 4.0 + in_context},
              {"in_context", in_context}, {"heads", {head(0, first), head(1, second)}}}
             .dump() +
         "\n";
}

// Run directory with its two logs only.
struct RecordedRun {
  RecordedRun() {
    folder.write("heads.jsonl", time_line(0, 0.1, 0.0, 0.0) + time_line(2, 0.2, 0.3, -0.5) +
                                    time_line(4, 0.1, 0.5, -2.0) + time_line(6, 0.1, 0.9, -3.5) +
                                    "{\"iteration\": 8, \"hea");
    folder.write("metrics.jsonl",
                 "{\"iteration\":0,\"loss\":4}\n{\"iteration\":1,\"loss\":3}\n"
                 "{\"iteration\":2,\"validation_loss\":9}\n{\"iteration\":2,\"loss\":3}\n"
                 "{\"iteration\":3,\"loss\":2}\n{\"iteration\":4,\"loss\":1}\n"
                 "{\"iteration\":5,\"loss\":0.5}\n");
  }

  TemporaryFolder folder;
  std::string path = folder.path().string();
};

TEST_CASE("tracking heads writes their scores and changes no bit of the training", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", corpus());
  output_of(training(data, folder.at("plain")));
  output_of(training(data, folder.at("tracked"), {"--track_heads", "5"}));
  CHECK(weights_of(folder.at("plain")) == weights_of(folder.at("tracked")));
  CHECK_FALSE(fs::exists(folder.at("plain/heads.jsonl")));

  const std::vector<json> times = json_lines(folder.at("tracked") + "/heads.jsonl");
  CHECK(iterations_of(times) == std::vector<int>{0, 5, 10});
  CHECK(times[0]["loss"].is_null());
  CHECK(times[1]["loss"] > 1);
  for (const json& time : times) {
    CHECK(time["text_places"] > 20);
    CHECK(time["repeat_places"] == 6 * 12);
    CHECK(time["in_context"] ==
          Approx(time["second_copy_loss"].get<double>() - time["first_copy_loss"].get<double>()));
    check_json(time, R"({"heads#": 4, "heads/3/head": "1.1"})");
    for (const char* score : {"previous_token", "first_token", "duplicate_token", "induction",
                              "entropy", "mean_distance", "copying"}) {
      INFO(score);
      CHECK(time["heads"][3][score].is_number());
    }
    CHECK_FALSE(time["heads"][3].contains("quote"));
  }
  CHECK(times[0]["heads"][0]["entropy"] != times[2]["heads"][0]["entropy"]);
}

TEST_CASE("a resumed run appends to its scores of heads without repeating a time", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", corpus());
  output_of(training(data, folder.at("whole"), {"--track_heads", "2"}));
  const std::string run = folder.at("resumed");
  output_of(training(data, run, {"--track_heads", "2", "--max_iters", "8"}));
  REQUIRE(iterations_of(json_lines(run + "/heads.jsonl")) == std::vector<int>{0, 2, 4, 6, 8});
  // As if the run had stopped while it wrote log lines after its checkpoint.
  std::string left = file_contents(run + "/heads.jsonl");
  left += "{\"iteration\":10,\"loss\":1,\"heads\":[]}\n{\"iteration\":12,\"lo";
  folder.write("resumed/heads.jsonl", left);
  output_of(training(data, run, {"--track_heads", "2", "--resume"}));
  CHECK(iterations_of(json_lines(run + "/heads.jsonl")) == std::vector<int>{0, 2, 4, 6, 8, 10, 12});
  CHECK(file_contents(run + "/heads.jsonl") == file_contents(folder.at("whole/heads.jsonl")));
  CHECK(weights_of(run) == weights_of(folder.at("whole")));
}

TEST_CASE("heads over time reports when each head emerged and at which loss", "[cli]") {
  const RecordedRun run;
  const std::string printed =
      output_of({"heads", run.path, "--over_time", "--columns", "induction", "--json"});
  const json report = json::parse(printed);
  CHECK(report["iterations"] == json({0.0, 2.0, 4.0, 6.0}));
  // Mean losses of the steps before each time; the first is the loss of step 0.
  CHECK(report["loss"] == json({4.0, 3.5, 2.5, 0.75}));
  CHECK(report["in_context"] == json({0.0, -0.5, -2.0, -3.5}));
  CHECK(report["scores"]["induction"]["0.1"] == json({0.0, 0.3, 0.5, 0.9}));
  check_json(report, R"({"births#": 1, "births/0/head": "0.1", "births/0/iteration": 4,
                         "births/0/threshold": 0.5, "births/0/loss": 2.5,
                         "births/0/in_context": -2.0})");
}

TEST_CASE("heads over time marks a head's emergence as uncertain when few places were measured",
          "[cli]") {
  const RecordedRun run;
  std::string lines = file_contents(run.folder.at("heads.jsonl"));
  const auto with_places = [&](int repeats) {
    std::string text;
    for (json& line : json_lines(run.folder.at("heads.jsonl"))) {
      line["text_places"] = 500;
      line["repeat_places"] = repeats;
      text += line.dump() + "\n";
    }
    return text;
  };
  run.folder.write("heads.jsonl", lines.substr(0, lines.find_last_of('\n') + 1));
  const std::string few = with_places(8);  // the interval of 0.9 reaches down to 0.42
  const std::string many = with_places(200);
  const Arguments ask{"heads", run.path, "--over_time", "--columns", "induction"};
  Arguments as_json = ask;
  as_json.emplace_back("--json");
  run.folder.write("heads.jsonl", few);
  const std::string text = run_headlight(ask).out;
  check_parts(text, {"caution: scores of 500 positions of text and 8 of repeated tokens do not",
                     "at a training loss of 2.500 ?\n"});
  CHECK(json::parse(run_headlight(as_json).out)["births"][0]["settled"] == false);
  run.folder.write("heads.jsonl", many);
  CHECK_FALSE(contains(run_headlight(ask).out, "caution"));
  CHECK(json::parse(run_headlight(as_json).out)["births"][0]["settled"] == true);
}

TEST_CASE("heads over time draws scores and losses for the terminal and as a figure", "[cli]") {
  const RecordedRun run;
  const std::string printed =
      output_of({"heads", run.path, "--over_time", "--out", run.folder.at("figures")});
  check_parts(printed, {"2 heads, 4 measurements from step 0 to 6", "induction of head 0.1",
                        "training loss", "second copy minus first", "0.900 │", "-3.500 │",
                        "0.1: induction reaches 0.50 by step 4, at a training loss of 2.500",
                        "no head reaches previous_token 0.50"});
  const std::string korean = run_headlight({"heads", run.path, "--over_time", "--lang", "ko"}).out;
  check_parts(korean, {"헤드 2개", "학습 손실", "업데이트 4번까지 0.50에 이릅니다",
                       "previous_token 0.50에 이른 헤드가 없습니다"});
  const std::string svg = file_contents(run.folder.at("figures/heads_over_time.svg"));
  check_parts(svg, {"induction of every head", "previous_token of every head", "Training loss",
                    "second copy", "translate(0 1140)", ">0.1<"});
  // The x axis maps steps 0 to 6 to pixels 72 to 616. Step 4 has a mark.
  CHECK(contains(svg, "<line x1=\"434.67\" y1=\"52\" x2=\"434.67\" y2=\"324\" stroke=\"#6b6f80\""));
}

TEST_CASE("heads over time reports missing scores in one line", "[cli]") {
  const RecordedRun run;
  const TemporaryFolder empty;
  const auto message = [](const Arguments& arguments) {
    const ProgramResult result = run_headlight(arguments);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    REQUIRE(result.messages().size() == 1);
    return result.messages()[0];
  };
  CHECK(mentions(message({"heads", empty.path().string(), "--over_time"}),
                 {"heads.jsonl", "--track_heads"}));
  CHECK(mentions(message({"heads", run.path, "--over_time", "--columns", "inducton"}),
                 {"--columns", "inducton", "induction"}));
  empty.write("heads.jsonl", "{\"iteration\":3}\n");
  CHECK(mentions(message({"heads", empty.path().string(), "--over_time"}),
                 {"heads.jsonl", "'heads'"}));
  const std::string log = empty.at("heads.jsonl");
  const auto refused = [&](const std::string& lines) {
    empty.write("heads.jsonl", lines);
    return message({"heads", empty.path().string(), "--over_time"});
  };
  const std::string head = R"([{"layer":0,"index":0,"induction":0.5}])";
  const std::string line = R"({"iteration":3,"heads":)" + head + "}\n";
  CHECK(refused(R"({"iteration":3,"heads":[{"layer":0}]})") ==
        "error: " + log + ": expected 'index' of every head");
  CHECK(refused(line + R"({"iteration":4,"heads":[{"layer":0,"index":1}]})") ==
        "error: " + log + ": expected the same heads in every line");
  CHECK(refused(line + line) == "error: " + log + ": expected later iterations in later lines");
  CHECK(refused("") == "error: " + log + ": expected at least one line with heads");
  CHECK(refused(R"({"iteration":3,"heads":[]})") ==
        "error: " + log + ": expected at least one line with heads");
}

TEST_CASE("an induction head emerges with the preset on repeated random tokens only",
          "[cli][experiment]") {
  const TemporaryFolder folder;
  const std::string root = HEADLIGHT_SOURCE_DIR;
  output_of(words("train", root + "/configs/induction.toml", "--data", root + "/data/toy.txt",
                  "--out_dir", folder.at("run"),
                  "--repeat_share 1 --max_iters 500 --lr_decay_iters 2000 --eval_interval 500 "
                  "--track_heads 250"));
  const std::vector<json> times = json_lines(folder.at("run") + "/heads.jsonl");
  REQUIRE(times.size() == 3);
  const auto induction = [](const json& time) {
    double most = 0;
    for (const json& head : time["heads"]) {
      most = std::max(most, head["induction"].get<double>());
    }
    return most;
  };
  CHECK(induction(times.front()) < 0.1);
  CHECK(induction(times.back()) > 0.8);
  CHECK(times.back()["in_context"] < -4.0);
}
}  // namespace track_heads_test
