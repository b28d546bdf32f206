#include "support/test.h"

namespace training_compare_test {
// Makes a run directory without a model. Its `updates` losses fall from 5 towards `floor`.
std::string make_run(const TemporaryFolder& folder, const std::string& name, int updates,
                     double floor, const std::string& settings) {
  fs::create_directory(folder.at(name));
  std::ostringstream log;
  for (int i = 0; i < updates; ++i) {
    const double loss = floor + (5 - floor) / (1 + i);
    if (i > 0 && i % 50 == 0) {
      log << R"({"iteration":)" << i << R"(,"validation_loss":)" << loss
          << R"(,"validation_bits_per_byte":)" << loss / 3 << R"(,"seconds":0.1,"elapsed_seconds":)"
          << i << "}\n";
    }
    log << R"({"iteration":)" << i << R"(,"loss":)" << loss
        << R"(,"tokens":64,"seconds":0.5,"elapsed_seconds":)" << i + 1 << "}\n";
  }
  folder.write(name + "/metrics.jsonl", log.str());
  folder.write(name + "/config.toml", "out_dir = \"" + name + "\"\nmax_iters = 200\n" + settings);
  return folder.at(name);
}

struct Given {
  TemporaryFolder folder;
  std::string one = make_run(folder, "one", 200, 1, "learning_rate = 1e-3\ntokenizer = \"char\"\n");
  std::string two = make_run(folder, "two", 120, 2, "learning_rate = 2e-3\ntokenizer = \"char\"\n");
  std::string bytes = make_run(folder, "bytes", 200, 2, "tokenizer = \"byte\"\n");
};

TEST_CASE("compare shows settings, losses and one chart of several runs", "[compare]") {
  const Given given;
  const std::string text = output_of({"compare", given.one, given.two});
  check_parts(text, {"a  " + given.one + "\nb  " + given.two + "\n", "learning_rate"});
  CHECK_FALSE(contains(text, "max_iters"));
  check_parts(text, {"200 of 200", "120 of 200", "stopped", "training, at 119", "└──", "aaa", "B"});
  CHECK_FALSE(contains(text, "\x1B"));
}

TEST_CASE("compare --json has figures and curves of every run", "[compare]") {
  const Given given;
  const json report =
      report_of({"compare", given.one, given.two, "--axis", "tokens", "--smooth", "0"});
  check_json(report, R"({"unit": "nats_per_token", "x": "tokens"})");
  CHECK(report["settings"]["learning_rate"] == json({"0.001", "0.002"}));
  REQUIRE(report["runs"].size() == 2);
  const json& two = report["runs"][1];
  check_json(two, R"({"updates": 120, "max_updates": 200})");
  CHECK(two["tokens"] == 120 * 64);
  check_json(two, R"({"tokens_per_second": 128, "seconds": 120, "running": false,
                      "best_updates": 100, "training/x#": 120, "training/x/2": 128,
                      "training/loss/0": 5})");
  CHECK(two["validation"]["x"] == json({50 * 64, 100 * 64}));
}

TEST_CASE("compare shows runs of different tokenizers in bits per byte and notes it", "[compare]") {
  const Given given;
  const ProgramResult result = run_headlight({"compare", given.one, given.bytes});
  CHECK(result.exit_code == 0);
  check_parts(result.err, {"the tokenizers differ", "bits per byte"});
  CHECK(result.messages().size() == 1);
  const json report = report_of({"compare", given.one, given.bytes, "--smooth", "0"});
  check_json(report, R"({"unit": "bits_per_byte", "same_tokenizer": false})");
  CHECK(report["runs"][0]["training"]["loss"][0] == Approx(5.0 / 3));
}

TEST_CASE("compare writes the chart as an SVG figure", "[compare]") {
  const Given given;
  const std::string svg = given.folder.at("losses.svg");
  output_of({"compare", given.one, given.two, "--svg", svg, "--axis", "seconds"});
  const std::string figure = file_contents(svg);
  check_parts(figure, {"<svg", "nats a token", ">seconds<", "<circle"});
}

TEST_CASE("compare reads runs that are damaged or empty or still training", "[compare]") {
  const Given given;
  const Arguments compare{"compare", given.one, given.two};
  const std::string text = file_contents(given.two + "/metrics.jsonl");
  given.folder.write("two/metrics.jsonl", text.substr(0, text.size() - 20));
  CHECK(log_of(compare).empty());
  given.folder.write("two/metrics.jsonl", "\x01\n{\n" + text);
  CHECK(contains(log_of(compare), "damaged line"));
  given.folder.write("two/metrics.jsonl", "");
  fs::remove(given.two + "/config.toml");
  const std::string log = log_of(compare);
  check_parts(log, {"has no loss yet", "no config.toml"});
  CHECK_FALSE(contains(log, "differ"));  // unknown without config.toml
  CHECK(refusal({"compare", given.two, "--svg", given.folder.at("x.svg")}) ==
        "error: --svg: no run has a loss to draw");
  CHECK_FALSE(fs::exists(given.folder.at("x.svg")));
}

TEST_CASE("compare reads the log that train writes", "[compare]") {
  const TemporaryFolder folder;
  const std::string data = folder.write(
      "data.txt", "abc abd acb abc abd acb abc abd acb bca cab abc abd acb bca cab abc bca\n");
  for (const std::string kind : {"char", "byte"}) {
    output_of(words("train --data", data, "--out_dir", folder.at(kind), "--tokenizer", kind,
                    "--n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --batch_size 2 --max_iters 6 "
                    "--eval_interval 3 --warmup_iters 1 --lr_decay_iters 6 --threads 1"));
  }
  const json report = report_of({"compare", folder.at("char"), folder.at("byte")});
  CHECK(report["unit"] == "bits_per_byte");
  for (const json& run : report["runs"]) {
    CHECK(run["updates"] == 6);
    CHECK(run["seconds"] > 0);
    CHECK(run["training"]["x"].size() == 6);
    CHECK(run["validation"]["x"] == json({3, 6}));
  }
  CHECK(report["settings"].contains("tokenizer"));
  CHECK_FALSE(report["settings"].contains("out_dir"));
}
}  // namespace training_compare_test
