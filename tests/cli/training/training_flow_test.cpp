#include "show/report/parts/terminal_text.h"
#include "support/test.h"

namespace training_flow_test {
// First use of the program, from a text to a trained model, with the real program.

using Json = nlohmann::json;

std::string small_corpus() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "Mina has a red kite. \"Fly!\" said Mina.\nThe kite flies.\n\n";
    text += "미나는 연을 봐요.\n\n";
    text += std::to_string(i) + " birds sing (softly) near the river.\n\n";
  }
  return text;
}

std::vector<std::string> train_arguments(const std::string& data, const std::string& out,
                                         const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{
      "train",  "--data",          data,         "--out_dir",
      out,      "--documents",     "blank_line", "--batching",
      "padded", "--n_layer",       "2",          "--n_head",
      "2",      "--n_embd",        "32",         "--block_size",
      "48",     "--batch_size",    "6",          "--dropout",
      "0.1",    "--warmup_iters",  "2",          "--lr_decay_iters",
      "12",     "--max_iters",     "12",         "--eval_interval",
      "4",      "--learning_rate", "0.01",       "--keep_checkpoints",
      "9"};
  return changed(std::move(arguments), more);
}

TEST_CASE("training writes checkpoints, metrics and the effective configuration", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", small_corpus());
  const std::string run = folder.at("run");
  const std::string printed = output_of(train_arguments(data, run, {"--json"}));
  const Json report = Json::parse(printed);
  CHECK(report["iterations"] == 12);
  CHECK(report["stopped"] == false);
  CHECK(report["best_validation_loss"].get<double>() < 4.0);
  CHECK(contains(file_contents(run + "/config.toml"), "n_embd = 32"));
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "MANIFEST.json",
                           "optimizer.safetensors", "state.json", "tokenizer_config.json"}) {
    INFO(name);
    CHECK(fs::exists(fs::path(run) / "best" / name));
    CHECK(fs::exists(fs::path(run) / "latest" / name));
  }
  const std::vector<Json> lines = metrics_of(run);
  REQUIRE(lines.size() == 12 + 3);
  CHECK(lines.front()["loss"].get<double>() > lines[lines.size() - 2]["loss"].get<double>());

  SECTION("and the model can be evaluated") {
    const ProgramResult eval =
        run_headlight({"eval", run, "--data", data, "--documents=blank_line", "--json"});
    INFO(eval.err);
    REQUIRE(eval.exit_code == 0);
    const Json numbers = Json::parse(eval.out);
    CHECK(numbers["perplexity"].get<double>() ==
          Approx(std::exp(numbers["loss"].get<double>())).epsilon(1e-12));
    CHECK(numbers["bits_per_byte"].get<double>() ==
          Approx(numbers["loss"].get<double>() * numbers["tokens"].get<double>() / std::log(2.0) /
                 numbers["bytes"].get<double>()));
    for (const std::string format : {"bfloat16", "int8"}) {
      const std::string rounded = output_of(
          {"eval", run, "--data", data, "--weights", format, "--documents=blank_line", "--json"});
      const Json coarse = Json::parse(rounded);
      CHECK(coarse["perplexity"] != numbers["perplexity"]);
      CHECK(coarse["perplexity"].get<double>() ==
            Approx(numbers["perplexity"].get<double>()).epsilon(1e-3));
    }
  }
  SECTION("and it continues a prompt") {
    const std::string generated =
        output_of({"generate", run, "--prompt", "Mina ", "--max_new_tokens=20", "--temperature",
                   "0", "--json"});
    CHECK(Json::parse(generated)["tokens"].get<int>() >= 1);
  }
  SECTION("and its attention is drawn") {
    const std::string drawn = output_of(
        {"attention", run, "--text", "Mina has a kite.", "--out", folder.at("maps"), "--json"});
    CHECK(Json::parse(drawn)["layers"] == 2);
    for (const char* name : {"attention.npz", "attention.html", "tokens.json", "layer_0.svg"}) {
      INFO(name);
      CHECK(fs::file_size(folder.path() / "maps" / name) > 100);
    }
  }
  SECTION("and info describes it") {
    const std::string info = output_of({"info", run, "--json"});
    CHECK(Json::parse(info)["layers"] == 2);
    CHECK(Json::parse(info)["head_width"] == 16);
  }
}

TEST_CASE("a resumed run ends with the same bits as one that never stopped", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", small_corpus());
  const std::string whole = folder.at("whole");
  const std::string parts = folder.at("parts");
  REQUIRE(run_headlight(train_arguments(data, whole)).exit_code == 0);
  REQUIRE(run_headlight(train_arguments(data, parts, {"--max_iters", "4"})).exit_code == 0);
  REQUIRE(run_headlight(train_arguments(data, parts, {"--max_iters", "8", "--resume"})).exit_code ==
          0);
  // All other settings come from the run.
  output_of({"train", "--resume", "--out_dir", parts, "--max_iters", "12"});
  CHECK(weights_of(whole) == weights_of(parts));
  CHECK(file_contents(whole + "/latest/optimizer.safetensors") ==
        file_contents(parts + "/latest/optimizer.safetensors"));
  CHECK(metrics_of(whole) == metrics_of(parts));
}

TEST_CASE("a terminal of any width gets lines that fit it, and colours unless refused", "[cli]") {
  const TemporaryFolder folder;
  const std::string text = folder.write("text.txt", "one two three four five six seven eight nine");
  const auto shown = [&](int columns, const Arguments& environment) {
    const ProgramResult result = run_headlight_on_terminal(columns,
                                                           {"train",
                                                            "--data",
                                                            text,
                                                            "--out_dir",
                                                            folder.at(std::to_string(columns)),
                                                            "--tokenizer",
                                                            "byte",
                                                            "--n_layer",
                                                            "1",
                                                            "--n_head",
                                                            "1",
                                                            "--n_embd",
                                                            "8",
                                                            "--block_size",
                                                            "8",
                                                            "--batch_size",
                                                            "1",
                                                            "--max_iters",
                                                            "3",
                                                            "--eval_iters",
                                                            "1",
                                                            "--warmup_iters",
                                                            "9"},
                                                           environment);
    INFO(result.err);
    CHECK(result.exit_code == 0);
    return result.err;
  };
  const std::string yellow = "\x1b[33m";
  const std::string drawn = shown(40, {});
  const std::size_t last = drawn.rfind("100% 3/3");
  REQUIRE(last != std::string::npos);
  const std::size_t begin = drawn.rfind("\x1b[K", last) + 3;
  const std::string line = drawn.substr(begin, drawn.find('\r', begin) - begin);
  CHECK(display_width(line) < 40);
  CHECK(contains(line, "loss "));
  CHECK_FALSE(contains(line, "norm "));
  CHECK(contains(drawn, yellow));
  const std::string plain = shown(80, {"NO_COLOR=1"});
  CHECK(contains(plain, "warning: warmup_iters 9 is not below"));
  CHECK_FALSE(contains(plain, yellow));
}

TEST_CASE("more threads than CPUs cause one line of warning", "[cli]") {
  const TemporaryFolder folder;
  const std::string config = folder.write("a.toml", "n_layer = 1\n");
  const auto messages_with = [&](const char* threads) {
    const ProgramResult result =
        run_headlight({"info", config, "--vocab_size", "50", "--threads", threads});
    CHECK(result.exit_code == 0);
    return result.messages();
  };
  const std::vector<std::string> warnings = messages_with("1000");
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "--threads 1000: more than the CPUs"));
  CHECK(messages_with("1").empty());
}

TEST_CASE("training computes with the instruction set that --cpu_variant names", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", small_corpus());
  const auto train = [&](const std::string& run, const std::vector<std::string>& more) {
    const ProgramResult result = run_headlight(train_arguments(data, folder.at(run), more));
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return result.err;
  };
  const std::string messages = train("plain", {"--cpu_variant", "baseline"});
  CHECK(contains(messages, " baseline kernels,"));
  train("again", {"--cpu-variant=baseline"});
  train("best", {});
  CHECK(weights_of(folder.at("plain")) == weights_of(folder.at("again")));
  const std::vector<Json> plain = metrics_of(folder.at("plain"));
  const std::vector<Json> best = metrics_of(folder.at("best"));
  REQUIRE(plain.size() == best.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].contains("loss")) {
      CHECK(plain[i]["loss"].get<double>() == Approx(best[i]["loss"].get<double>()).epsilon(1e-3));
    }
  }
}
}  // namespace training_flow_test
