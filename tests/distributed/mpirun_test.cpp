#include <sys/wait.h>
#include <cstdio>

#include "kernels/gemm/gemm.h"
#include "support/programs/launcher.h"
#include "support/programs/session.h"
#include "support/test.h"

// Runs the program under a real mpirun, if there is one.

struct Outcome {
  int exit_code = -1;
  std::string text;  // stdout and stderr

  std::vector<std::string> errors() const {
    std::vector<std::string> lines = lines_of(text);
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("error: "); });
    return lines;
  }
};

// `arguments` of mpirun; %P is replaced by the program.
Outcome run_mpirun(const std::string& arguments, const std::string& environment = "") {
  std::string command = "env OMP_NUM_THREADS=1 " + environment;
  for (const auto& [name, value] : launcher_environment()) {
    command += " " + name + "=" + value;
  }
  command = "exec 2>&1; " + command + " timeout 120 mpirun --oversubscribe --bind-to none " +
            replaced_all(arguments, {{"%P", HEADLIGHT_PROGRAM}});
  Outcome outcome;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) {
    outcome.text += part.data();
  }
  const int status = ::pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// Returns the command of a tiny run whose text is in `folder`.
std::string train(const TemporaryFolder& folder, const std::string& run, const std::string& more) {
  folder.write("text.txt",
               "The cat sat on the mat.\nThe dog lay by the log. What the fox said\n"
               "nobody knows, but it was long and loud.\nAnd then.\n");
  return "%P train --data " + folder.at("text.txt") + " --out_dir " + folder.at(run) +
         " --n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4" +
         (more.find("--max_iters") == std::string::npos ? " --max_iters 4" : "") +
         " --eval_interval 2 --eval_iters 1 --dropout 0.1 --threads 1 " + more;
}

TEST_CASE("training under mpirun gives the same bits as one process", "[long]") {
  if (!has_launcher()) {
    return;
  }
  const std::string dtype =
      headlight::kernels::bfloat16_instructions().empty() ? "float32" : "bfloat16";
  const std::string other = " --dtype " + dtype +
                            " --optimizer muon --documents line --batching bucketed"
                            " --track_heads 2";
  for (const std::string& more : {std::string(), other}) {
    const TemporaryFolder folder;
    for (const char* processes : {"1", "2", "4"}) {
      const Outcome outcome = run_mpirun(std::string("-n ") + processes + " " +
                                         train(folder, processes, "--shards 4" + more));
      INFO(outcome.text);
      REQUIRE(outcome.exit_code == 0);
    }
    std::vector<std::string> files{"latest/model.safetensors", "latest/optimizer.safetensors"};
    if (!more.empty()) {
      files.emplace_back("heads.jsonl");
    }
    for (const std::string& file : files) {
      INFO(file);
      const std::string expected = file_contents(folder.at("1/" + file));
      CHECK(!expected.empty());
      CHECK(file_contents(folder.at("2/" + file)) == expected);
      CHECK(file_contents(folder.at("4/" + file)) == expected);
    }
  }
}

TEST_CASE("processes with different settings or data end with one error line", "[long]") {
  if (!has_launcher()) {
    return;
  }
  const TemporaryFolder folder;
  const auto refused = [](const std::string& arguments, const std::string& part,
                          const std::string& environment = "") {
    const Outcome outcome = run_mpirun(arguments, environment);
    INFO(outcome.text);
    CHECK(outcome.exit_code != 0);
    REQUIRE(outcome.errors().size() == 1);
    CHECK(outcome.errors().front().find(part) != std::string::npos);
  };
  const std::string plain = train(folder, "run", "");
  const std::string four = "-n 2 " + plain + " : -n 2 ";
  refused(four + plain + " --learning_rate 0.5", "settings: ");
  refused(four + plain + " --cpu_variant baseline", "CPU variant: differs between processes");
  refused("-n 1 " + plain + " : -n 1 " + plain + " --data /nowhere.txt", "/nowhere.txt");
  refused("-n 4 " + plain + " --n_layer 2", "n_layer: given twice");
  refused("-n 4 " + train(folder, "run", "--shards 2"), "shards: expected at least 4");
  refused("-n 2 " + plain, "/nowhere.so", "HEADLIGHT_MPI=/nowhere.so");
  CHECK(!fs::exists(folder.at("run/config.toml")));
}

TEST_CASE("SIGUSR1 saves and ends all, and a second job is refused meanwhile") {
  if (!has_launcher()) {
    return;
  }
  const TemporaryFolder folder;
  const std::string endless = train(folder, "run", "--shards 4 --max_iters 100000000");
  // The first job saves early, so that the second job and the signal come during its training.
  const std::string script =
      "-n 4 " + endless + " --save_interval 1 & first=$!; " + "until [ -e " +
      folder.at("run/latest") + " ]; do sleep 0.1; done; " + "%P train --resume " +
      folder.at("run") +
      "; echo second $?; pkill -USR1 -P $first; wait $first; echo first $?; true";
  const Outcome outcome = run_mpirun(script);
  INFO(outcome.text);
  check_parts(outcome.text, {"second 4", "first 0", "stopped after step"});
  CHECK(outcome.errors().size() == 1);  // from the second job
}

TEST_CASE("three processes are refused and the message names the possible numbers") {
  if (!has_launcher()) {
    return;
  }
  const TemporaryFolder folder;
  const Outcome outcome = run_mpirun("-n 3 " + train(folder, "run", ""));
  INFO(outcome.text);
  CHECK(outcome.exit_code != 0);
  CHECK(contains(outcome.text, "expected 1, 2, 4, 8 ... processes, got 3; 2 or 4 are possible"));
}
