#include "support/test.h"

namespace training_run_directory_test {
// Effect of a run on its directory and on files that are already there.

Arguments train(const TemporaryFolder& folder, const std::string& out, const Arguments& more = {}) {
  Arguments arguments = words(
      "train --data", folder.write("data.txt", "the cat sat on the mat, and sat"), "--out_dir", out,
      "--n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --batch_size 2 --max_iters 4 "
      "--validation_fraction 0 --log_level error");
  return changed(std::move(arguments), more);
}

TEST_CASE("a new run does not replace files that no run has written", "[cli]") {
  const TemporaryFolder folder;
  for (const std::string name : {"config.toml", "metrics.jsonl"}) {
    fs::create_directory(folder.path() / "mine");
    const std::string file = folder.write("mine/" + name, "# mine");
    for (int attempt = 0; attempt < 2; ++attempt) {
      CHECK(refusal(train(folder, folder.at("mine"))) ==
            "error: " + file +
                ": was not written by a run, but this run would replace it; choose another "
                "--out_dir");
    }
    CHECK(file_contents(file) == "# mine");
    CHECK(std::distance(fs::directory_iterator(folder.path() / "mine"), fs::directory_iterator()) ==
          1);
    fs::remove_all(folder.path() / "mine");
  }
}

TEST_CASE("a run leaves other files in its directory unchanged", "[cli]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "run/draft.tmp.999999999");
  const std::string notes = folder.write("run/notes.txt", "mine");
  CHECK(run_headlight(train(folder, folder.at("run"))).exit_code == 0);
  CHECK(file_contents(notes) == "mine");
  CHECK(fs::exists(folder.path() / "run/draft.tmp.999999999"));
}

TEST_CASE("a run that was killed before its first checkpoint can be begun again", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  CHECK(run_headlight(train(folder, run)).exit_code == 0);
  fs::remove_all(folder.path() / "run/step_00000004");
  fs::remove(folder.path() / "run/latest");
  folder.write("run/heads.jsonl", "{\"iteration\":0,\"loss\":1,\"heads\":[]}\n");
  CHECK(run_headlight(train(folder, run)).exit_code == 0);
  CHECK(json_lines(run + "/metrics.jsonl").size() == 4);
  CHECK_FALSE(fs::exists(run + "/heads.jsonl"));
}

TEST_CASE("a run with the largest seed can be resumed", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  const Arguments seed{"--seed", "9223372036854775807", "--lr_decay_iters", "6"};
  CHECK(run_headlight(train(folder, run, seed)).exit_code == 0);
  output_of({"train", "--resume", "--out_dir", run, "--max_iters", "6"});
  CHECK(json_lines(run + "/metrics.jsonl").size() == 6);
}

TEST_CASE("a run is not resumed with a max_iters below its current update", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  REQUIRE(run_headlight(train(folder, run)).exit_code == 0);
  const std::string settings = file_contents(run + "/config.toml");
  check_refused(words("train --resume --out_dir", run, "--max_iters 3"),
                {"max_iters: expected at least 4", "got 3"});
  CHECK(file_contents(run + "/config.toml") == settings);
}

TEST_CASE("a run without its settings file is not resumed with the defaults", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  REQUIRE(run_headlight(train(folder, run)).exit_code == 0);
  fs::remove(run + "/config.toml");
  check_refused({"train", "--resume", "--out_dir", run}, {run + "/config.toml"});
}

TEST_CASE("a run keeps the tokenizer of its model", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  REQUIRE(run_headlight(train(folder, run)).exit_code == 0);
  const Arguments start =
      words("train --data", folder.at("data.txt"), "--init_from", run, "--out_dir",
            folder.at("other"), "--max_iters 1 --log_level error --tokenizer");
  const auto with = [&](const std::string& tokenizer) {
    Arguments arguments = start;
    arguments.push_back(tokenizer);
    return arguments;
  };
  check_refused(with("byte"),
                {"tokenizer: expected char, as in the model that the run starts from, got byte"});
  CHECK(run_headlight(with("char")).exit_code == 0);
  check_refused(
      {"tokenizer", "train", "--data", folder.at("data.txt"), "--vocab_size", "260", "--out", run},
      {run, "contains a model"});
}

TEST_CASE("resuming a run that is in use exits with code 4 whatever the run started from",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string base = folder.at("base");
  REQUIRE(run_headlight(train(folder, base)).exit_code == 0);
  fs::create_directory(folder.path() / "run");
  const headlight::DirectoryLock lock(folder.path() / "run");
  const ProgramResult result =
      run_headlight(words("train --resume --out_dir", folder.at("run"), "--data",
                          folder.at("data.txt"), "--init_from", base));
  CAPTURE(result.err);
  CHECK(result.exit_code == 4);
}
}  // namespace training_run_directory_test
