#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/programs/process.h"
#include "support/test.h"

// Runs that are locked, stopped, killed and resumed, with the real program.

namespace saving_test {
std::string corpus() {
  return joined(80,
                [&](int i) { return "Bird " + std::to_string(i) + " sings by the river.\n\n"; });
}

Arguments training(const std::string& data, const std::string& run, const Arguments& more = {}) {
  Arguments arguments =
      words("train --data", data, "--out_dir", run,
            "--n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 2 --dropout 0.1 "
            "--warmup_iters 2 --max_iters 12 --eval_interval 6 --save_interval 2 --keep 3 "
            "--learning_rate 0.01 --threads 1 --lr_decay_iters 600000");
  return changed(std::move(arguments), more);
}

Process start(const Arguments& arguments, const fs::path& output) {
  Arguments command{HEADLIGHT_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {command, {}, output};
}

// Waits until the log of a run has `lines` lines.
void wait_for_lines(const std::string& run, std::size_t lines) {
  const auto count = [&] {
    const std::string text = file_contents(fs::path(run) / "metrics.jsonl");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  for (int tries = 0; tries < 60'000 && count() < lines; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  REQUIRE(count() >= lines);
}

TEST_CASE("a second trainer on a run directory is refused and the process in it named") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  fs::create_directory(run);
  const int lock = open((run + "/.lock").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(flock(lock, LOCK_EX) == 0);
  const std::string number = std::to_string(getpid());
  REQUIRE(write(lock, number.data(), number.size()) > 0);
  const std::string data = folder.write("d.txt", corpus());
  const ProgramResult refused = run_headlight(training(data, run));
  CHECK(refused.exit_code == 4);
  CHECK(contains(refused.err, "in use by process " + number));
  CHECK(run_headlight(training(data, run, {"--resume"})).exit_code == 4);
  close(lock);
  CHECK(run_headlight(training(data, run)).exit_code == 0);
}

TEST_CASE("a run stopped by a signal saves and the resumed run does the missed evaluation") {
  const TemporaryFolder folder;
  const std::string data = folder.write("d.txt", corpus());
  const std::string run = folder.at("run");
  Process child =
      start(training(data, run, {"--max_iters", "100000", "--eval_interval", "1"}), folder.path());
  wait_for_lines(run, 12);
  child.send(SIGTERM);
  CHECK(child.wait().code == 0);
  const json state = json::parse(file_contents(fs::path(run) / "latest" / "state.json"));
  const int stopped_at = state["iteration"].get<int>();
  check_json(state, R"({"data/seed": 1337, "history/data_shift": 0})");
  CHECK(state["cpu_variant"].get<std::string>().size() > 1);
  const Arguments rest = words("--max_iters", std::to_string(stopped_at + 3), "--eval_interval 1");
  Arguments resumed = rest;
  resumed.push_back("--resume");
  REQUIRE(run_headlight(training(data, run, resumed)).exit_code == 0);
  const std::string whole = folder.at("whole");
  REQUIRE(run_headlight(training(data, whole, rest)).exit_code == 0);
  CHECK(weights_of(run) == weights_of(whole));
  CHECK(metrics_of(run) == metrics_of(whole));
}

TEST_CASE("a closed terminal stops and saves a run, unless nohup ignores it") {
  const TemporaryFolder folder;
  const std::string data = folder.write("d.txt", corpus());
  const auto ends_after_hangup = [&](const std::string& run, const std::string& steps) {
    Process child = start(training(data, run, {"--max_iters", steps}), folder.path());
    wait_for_lines(run, 2);
    child.send(SIGHUP);
    CHECK(child.wait().code == 0);
    return json::parse(file_contents(fs::path(run) / "latest" / "state.json"))["iteration"];
  };
  CHECK(ends_after_hangup(folder.at("stopped"), "100000") < 100000);
  signal(SIGHUP, SIG_IGN);  // as nohup does for its program
  CHECK(ends_after_hangup(folder.at("whole"), "30") == 30);
  signal(SIGHUP, SIG_DFL);
}

TEST_CASE("a save that fails ends the run with its last checkpoint intact") {
  const TemporaryFolder folder;
  const std::string data = folder.write("d.txt", corpus());
  const std::string run = folder.at("run");
  REQUIRE(run_headlight(training(data, run, {"--max_iters", "2"})).exit_code == 0);
  const std::string before = weights_of(run);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{24 << 10, limit.rlim_max};  // smaller than optimizer.safetensors
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const ProgramResult stopped = run_headlight(training(data, run, {"--resume"}));
  const ProgramResult went_on = run_headlight(
      training(data, run, {"--resume", "--on_save_error", "continue", "--max_iters", "9"}));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  INFO(stopped.err << went_on.err);
  CHECK(stopped.exit_code == 3);
  const std::string line = stopped.messages().back();
  check_parts(line, {"cannot save ", "step_00000004, which takes ", " bytes: cannot write ",
                     "File too large", "the last complete one is ", "step_00000002"});
  CHECK(went_on.exit_code == 3);
  CHECK(contains(went_on.err, "step_00000008, which takes"));
  CHECK(weights_of(run) == before);
  CHECK(run_headlight(training(data, run, {"--resume"})).exit_code == 0);
  const std::string whole = folder.at("whole");
  REQUIRE(run_headlight(training(data, whole)).exit_code == 0);
  CHECK(weights_of(run) == weights_of(whole));
}

TEST_CASE("texts of a checkpoint cannot control a terminal") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(words("train --data", folder.write("data.txt", std::string(400, 'a')), "--out_dir", run,
               "--n_layer 1 --n_head 1 --n_embd 8 --block_size 16 --max_iters 2"));
  const fs::path latest = fs::canonical(fs::path(run) / "latest");
  json state = json::parse(file_contents(latest / "state.json"));
  state["build"] = "of \x1b]0;x\x07 \xC2\x9B";
  write_bytes(latest / "state.json", state.dump());
  fs::remove(latest / "MANIFEST.json");
  write_manifest(latest);
  const std::string resumed = log_of({"train", "--resume", run, "--max_iters", "3"});
  CHECK(contains(resumed, "by headlight of \\x1b]0;x\\x07 \\xc2\\x9b, now "));
  CHECK_FALSE(contains(resumed, "\x1b"));
}
}  // namespace saving_test
