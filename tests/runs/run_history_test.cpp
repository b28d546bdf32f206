#include "headlight/runs/run_history.h"
#include "runs/logs/metrics_log.h"
#include "support/test.h"

// A run directory with this log.
struct Given {
  explicit Given(const std::string& log, const std::string& config = "max_iters = 10\n") {
    fs::create_directory(folder.at("run"));
    folder.write("run/metrics.jsonl", log);
    folder.write("run/config.toml", config);
  }

  RunHistory read() const { return read_run_history(folder.at("run")); }

  TemporaryFolder folder;
};

std::string step(int iteration, double loss, double elapsed) {
  return concat_text(R"({"iteration":)", iteration, R"(,"loss":)", loss,
                     R"(,"tokens":100,"seconds":0.5,"elapsed_seconds":)", elapsed, "}\n");
}

std::string evaluation(int iteration, double loss, double elapsed) {
  return concat_text(R"({"iteration":)", iteration, R"(,"validation_loss":)", loss,
                     R"(,"validation_bits_per_byte":)", loss / 2,
                     R"(,"best":true,"seconds":0.25,"elapsed_seconds":)", elapsed, "}\n");
}

TEST_CASE("the history of a run has its losses, tokens and seconds") {
  const Given given(step(0, 4, 1) + step(1, 3, 2) + evaluation(2, 2.5, 3) + step(2, 2, 4));
  const RunHistory run = given.read();
  REQUIRE(run.training.size() == 3);
  CHECK(run.training[2].updates == 2);
  CHECK(run.training[2].tokens == 200);
  CHECK(run.training[2].seconds == 4);
  CHECK(run.training[2].loss == 2);
  REQUIRE(run.validation.size() == 1);
  CHECK(run.validation[0].tokens == 200);
  CHECK(run.validation[0].bits_per_byte == 1.25);
  CHECK(run.best_validation() == &run.validation[0]);
  CHECK(run.updates == 3);
  CHECK(run.max_updates() == 10);
  CHECK(run.tokens == 300);
  CHECK(run.tokens_per_second() == 200);
  CHECK(run.elapsed_seconds == 4);
  CHECK_FALSE(run.is_running);
  CHECK(run.tokenizer.empty());
}

TEST_CASE("a line that is cut off or damaged is left out and counted") {
  const Given given(step(0, 4, 1) + "\x01\xFF{{{\n[1]\n" + "{\"iteration\":-4,\"loss\":1}\n" +
                    "{\"iteration\":1e300,\"loss\":1}\n" + "{\"note\":\"something else\"}\n" +
                    step(1, 3, 2) + R"({"iteration":2,"loss":2.5,"tok)");
  const RunHistory run = given.read();
  CHECK(run.training.size() == 2);
  CHECK(run.updates == 2);
  CHECK(run.damaged_lines == 3);
}

TEST_CASE("a line of nested lists without end costs nothing") {
  const Given given(step(0, 4, 1) + std::string(1 << 20, '[') + "\n" + step(1, 3, 2));
  CHECK(given.read().training.size() == 2);
  CHECK(given.read().damaged_lines == 1);
}

TEST_CASE("invalid values in a log are treated as unknown without affecting the others") {
  const Given given(step(0, 4, 1) +
                    R"({"iteration":1,"loss":null,"tokens":100,"seconds":0.5,"skipped":"x"})"
                    "\n"
                    R"({"iteration":2,"loss":1e308,"tokens":100,"seconds":-3,"elapsed_seconds":3})"
                    "\n"
                    R"({"iteration":3,"loss":"3","tokens":100,"seconds":0.5})"
                    "\n" +
                    step(4, 2, 5));
  const RunHistory run = given.read();
  REQUIRE(run.training.size() == 2);
  CHECK(run.training[1].updates == 4);
  CHECK(run.training[1].tokens == 300);
  CHECK(run.skipped == 1);
  CHECK(std::isnan(run.update_seconds));
  CHECK(std::isnan(run.tokens_per_second()));
}

TEST_CASE("repeated updates count with their last values") {
  const Given given(step(0, 4, 1) + step(1, 3, 2) + evaluation(2, 3, 3) + step(2, 9, 4) +
                    step(3, 9, 5) + evaluation(4, 9, 6) +
                    R"({"iteration":2,"rollback_from":4,"reason":"x"})"
                    "\n" +
                    step(2, 2, 7) + evaluation(3, 1, 8));
  const RunHistory run = given.read();
  REQUIRE(run.training.size() == 3);
  CHECK(run.training[2].loss == 2);
  CHECK(run.training[2].seconds == 7);  // includes the time of the steps that were rolled back
  REQUIRE(run.validation.size() == 2);
  CHECK(run.validation[0].loss == 3);
  CHECK(run.tokens == 300);
  CHECK(run.updates == 3);
  CHECK(run.rollbacks == 1);
}

TEST_CASE("a log without tokens or times has curves against updates alone") {
  const Given given("{\"iteration\":0,\"loss\":4}\n{\"iteration\":1,\"loss\":3}\n");
  const RunHistory run = given.read();
  CHECK(training_curve(run, {.axis = HistoryAxis::updates}).x == std::vector<double>{0, 1});
  CHECK(training_curve(run, {.axis = HistoryAxis::seconds}).empty());
  CHECK(training_curve(run, {.axis = HistoryAxis::tokens}).x == std::vector<double>{0});
  CHECK(training_curve(run, {.bits_per_byte = true}).empty());
  CHECK(std::isnan(run.tokens));
}

TEST_CASE("a run whose directory is locked is running") {
  const Given given(step(0, 4, 1));
  {
    const DirectoryLock lock(given.folder.at("run"));
    CHECK(given.read().is_running);
    CHECK(given.read().is_running);  // reading does not take the lock
  }
  CHECK_FALSE(given.read().is_running);
  given.folder.write("run/.lock", "4711\n");  // left by a killed process
  CHECK_FALSE(given.read().is_running);
}

TEST_CASE("a folder that is no run is refused by name") {
  const Given given(step(0, 4, 1), "max_iters = = 3\n");
  check_error([&] { given.read(); }, {"config.toml"});
  check_error([&] { read_run_history(given.folder.path()); },
              {given.folder.path().string(), "metrics.jsonl"});
  check_error([&] { read_run_history(given.folder.at("none")); },
              {"none", "no such run directory"});
}

TEST_CASE("smoothing is a moving average that begins with the first value") {
  const Given given(step(0, 4, 1) + step(1, 2, 2) + step(2, 2, 3));
  const LossCurve curve = training_curve(given.read(), {.smoothing = 0.5});
  REQUIRE(curve.loss.size() == 3);
  CHECK(curve.loss[0] == 4);
  CHECK(curve.loss[1] == Approx((0.5 * 2 + 0.25 * 4) / 0.75));
  CHECK(curve.loss[2] == Approx((0.5 * 2 + 0.25 * 2 + 0.125 * 4) / 0.875));
  CHECK(training_curve(given.read(), {.smoothing = 0}).loss == std::vector<double>{4, 2, 2});
  check_error([&] { training_curve(given.read(), {.smoothing = 1}); }, {"smooth", "below 1"});
}

TEST_CASE("long curves become means over equal parts of the axis") {
  const std::string log = joined(1000, [&](int i) { return step(i, i % 2 == 0 ? 1 : 3, i); });
  const LossCurve curve = training_curve(Given(log).read(), {.smoothing = 0, .points = 10});
  REQUIRE(curve.x.size() == 10);
  CHECK(curve.x[0] == Approx(49.5));
  for (const double loss : curve.loss) {
    CHECK(loss == Approx(2));
  }
}

TEST_CASE("a curve has values between its points and none outside") {
  const LossCurve curve{{0, 10, 20}, {4, 2, 3}};
  CHECK(curve.at(0) == 4);
  CHECK(curve.at(5) == 3);
  CHECK(curve.at(20) == 3);
  CHECK(std::isnan(curve.at(21)));
  CHECK(std::isnan(curve.at(-1)));
}

TEST_CASE("bits per byte convert training losses as in validation") {
  const Given given(step(0, 4, 1) + evaluation(1, 3, 2) + step(1, 2, 3));
  const CurveOptions options{.smoothing = 0, .bits_per_byte = true};
  CHECK(training_curve(given.read(), options).loss == std::vector<double>{2, 1});
  CHECK(validation_curve(given.read(), options).loss == std::vector<double>{1.5});
}

TEST_CASE("settings that differ are listed with the values of every run") {
  const Given one(step(0, 4, 1),
                  "out_dir = \"a\"\nlearning_rate = 0.005\nmax_iters = 10\ndata = \"x\"\n");
  const Given other(step(0, 4, 1),
                    "out_dir = \"b\"\nlearning_rate = 1e-4\nmax_iters = 10\n"
                    "data = \"x\"\nnew = true\n");
  const std::vector<RunHistory> runs{one.read(), other.read()};
  const std::vector<SettingDifference> settings = differing_settings(runs);
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].key == "learning_rate");
  CHECK(settings[0].values == std::vector<std::string>{"0.005", "1e-04"});
  CHECK(settings[1].key == "new");
  CHECK(settings[1].values == std::vector<std::string>{"", "true"});
  CHECK(comparability(runs).same_tokenizer);
  CHECK(comparability(runs).same_validation);
  CHECK_FALSE(comparability(runs).bits_per_byte);
}

TEST_CASE("runs of other data or tokenizers are distinguished") {
  const std::string log = step(0, 4, 1) + evaluation(1, 3, 2);
  const Given one(log, "data = \"x\"\ntokenizer = \"bpe\"\nvocab_size = 300\n");
  const Given two(log, "data = \"x\"\ntokenizer = \"bpe\"\nvocab_size = 400\n");
  const Given three(log, "data = \"y\"\ntokenizer = \"bpe\"\nvocab_size = 300\n");
  const auto same = [](const Given& a, const Given& b) {
    return comparability(std::vector<RunHistory>{a.read(), b.read()});
  };
  CHECK(same(one, one).same_tokenizer);
  CHECK_FALSE(same(one, two).same_tokenizer);
  CHECK(same(one, two).same_validation);
  CHECK(same(one, two).bits_per_byte);
  CHECK_FALSE(same(one, three).same_tokenizer);  // learned from other text
  CHECK_FALSE(same(one, three).same_validation);
  const Given plain(log, "data = \"x\"\ntokenizer = \"bpe\"\nspecial_tokens = \"off\"\n");
  const Given special(log, "data = \"x\"\ntokenizer = \"bpe\"\nspecial_tokens = \"on\"\n");
  CHECK_FALSE(same(plain, special).same_validation);
}

TEST_CASE("the log counts the seconds of a run through all its processes") {
  const TemporaryFolder folder;
  const fs::path path = folder.write(
      "metrics.jsonl", step(0, 4, 100) + evaluation(1, 3, 250) + step(1, 3, 300) + step(2, 2, 400));
  TrainingState state;
  state.iteration = 2;
  {
    MetricsLog log(folder.path(), state, {}, [](const Error& error) { throw error; });
    log.on_step({.iteration = 2, .loss = 1, .tokens = 100, .seconds = 0.5});
    log.on_evaluation({.iteration = 3});
  }
  const std::vector<json> lines = json_lines(path);
  REQUIRE(lines.size() == 5);
  CHECK(lines[3]["elapsed_seconds"] >= 300);  // the time after the checkpoint is not counted
  CHECK(lines[3]["elapsed_seconds"] < 400);
  CHECK(lines[4]["elapsed_seconds"] >= lines[3]["elapsed_seconds"].get<double>());
}

TEST_CASE("copies of the metrics are made again when the log is cut") {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", step(0, 4, 100) + step(1, 3, 300) + step(2, 2, 400));
  const auto table = [&] { return file_contents(folder.path() / "metrics.csv"); };
  const auto events = [&] {
    return file_contents(folder.path() / "events.out.tfevents.headlight");
  };
  TrainingState state;
  state.iteration = 1;
  MetricsLog log(folder.path(), state, {.csv = true, .tensorboard = true},
                 [](const Error& error) { throw error; });
  const std::string first = table();
  const std::size_t first_size = events().size();
  CHECK(std::count(first.begin(), first.end(), '\n') == 2);
  CHECK(first.substr(0, 15) == "iteration,loss,");
  log.on_step({.iteration = 1, .loss = 2.5, .learning_rate = 0.125, .tokens = 7});
  log.on_evaluation({.iteration = 2, .validation = {.loss = 1.5, .perplexity = 2, .tokens = 9}});
  log.on_step({.iteration = 2,
               .loss = std::numeric_limits<double>::quiet_NaN(),
               .outcome = StepOutcome::skipped,
               .reason = "no, \"really\""});
  CHECK_THAT(table(), contains_text("\n1,2.5,0.125,0.0,7,0.0,"));
  CHECK_THAT(table(), contains_text("\n2,,,,,0.0,"));
  CHECK_THAT(table(), contains_text(",1.5,2.0,,9,false,,\n"));
  CHECK_THAT(table(), contains_text("\n2,,0.0,0.0,0,0.0,"));
  CHECK_THAT(table(), contains_text(",true,,,,,,,\n"));
  CHECK_THAT(events(), contains_text("validation/loss"));
  log.on_rollback({.iteration = 1, .from = 2});
  log.cut(state);
  CHECK(table() == first);
  CHECK(events().size() == first_size);
}
