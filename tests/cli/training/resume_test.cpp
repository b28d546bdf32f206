#include "support/saved_model.h"
#include "support/test.h"

namespace resume_test {
// Resumed runs, with equal or other settings, with the real program.

std::string corpus() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "Bird " + std::to_string(i) + " sings by the river.\n\n";
  }
  return text;
}

// Arguments for 12 steps of a tiny model on documents.
Arguments training(const TemporaryFolder& folder, const std::string& run,
                   const Arguments& more = {}) {
  Arguments arguments = words(
      "train --data", folder.write("data.txt", corpus()), "--out_dir", run,
      "--documents blank_line --batching padded --n_layer 1 --n_head 1 --n_embd 8 --block_size 16 "
      "--batch_size 4 --max_iters 12 --eval_interval 6 --learning_rate 0.01 --threads 1");
  return changed(std::move(arguments), more);
}

std::vector<json> changes_of(const std::string& run) {
  std::vector<json> changes;
  for (const json& line : json_lines(run + "/metrics.jsonl")) {
    if (line.contains("changed")) {
      changes.push_back(line);
    }
  }
  return changes;
}

// Files below a folder, with their sizes. Sizes of locks are 0, because they depend on process ids.
std::map<std::string, std::uintmax_t> files_of(const std::string& folder) {
  std::map<std::string, std::uintmax_t> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool has_size = entry.is_regular_file() && entry.path().filename() != ".lock";
    files[entry.path().string()] = has_size ? entry.file_size() : 0;
  }
  return files;
}

// Makes a folder the current one during its lifetime.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

TEST_CASE("a run resumes with changed settings and its files record the update of the change",
          "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run));
  const std::string resumed =
      log_of({"train", "--resume", run, "--max_iters", "18", "--batch_size", "6", "--learning_rate",
              "0.02", "--dropout", "0.1", "--weight_decay", "0", "--threads", "1"});
  check_parts(resumed, {"after step 12: batch_size = 6 (was 4), dropout = 0.1 (was 0), ",
                        "learning_rate = 0.02 (was 0.01), min_lr = 0.002 (was 0.001), ",
                        "lr_decay_iters = 18 (was 12), max_iters = 18 (was 12), "
                        "weight_decay = 0 (was 0.1)"});
  const std::vector<json> changes = changes_of(run);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0]["iteration"] == 12);
  CHECK(changes[0]["changed"]["batch_size"] == json{{"before", "4"}, {"after", "6"}});
  CHECK_FALSE(changes[0]["changed"].contains("max_iters"));
  const std::string settings = file_contents(run + "/config.toml");
  check_parts(settings, {"\nbatch_size = 6\n", "\n# lr_decay_iters = 18  # not given: max_iters\n",
                         "\n# after step 12: batch_size = 6 (was 4), "});

  log_of({"train", "--resume", "--out_dir", run, "--max_iters", "20", "--seed", "5"});
  CHECK(changes_of(run).size() == 2);
  const std::string later = file_contents(run + "/config.toml");
  check_parts(later, {"\n# after step 12: batch_size = 6 (was 4), ",
                      "\n# after step 18: ", "seed = 5 (was 1337)"});
  CHECK(json_lines(run + "/metrics.jsonl").size() >= 20 + 3 + 2);
}

TEST_CASE(
    "a change of settings is recorded once even if the run is killed before its next checkpoint",
    "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run));
  const Arguments other =
      words("train --resume", run, "--max_iters 15 --batch_size 5 --eval_interval 100");
  log_of(other);
  const std::string expected = weights_of(run);
  const std::string settings = file_contents(run + "/config.toml");
  // As if a kill had prevented the checkpoint.
  fs::remove_all(run + "/step_00000015");
  log_of(other);
  CHECK(changes_of(run).size() == 1);
  CHECK(weights_of(run) == expected);
  CHECK(file_contents(run + "/config.toml") == settings);
}

TEST_CASE("a run with settings that have changed resumes to the same bits", "[cli]") {
  const TemporaryFolder folder;
  const Arguments other =
      words("--resume --batch_size 7 --learning_rate 0.02 --lr_decay_iters 30 --warmup_iters 0");
  const auto resume = [&](const std::string& run, const std::string& end, const Arguments& more) {
    Arguments arguments{"train", "--out_dir", run, "--max_iters", end, "--threads", "1"};
    arguments = changed(std::move(arguments), more);
    log_of(arguments);
  };
  const std::string whole = folder.at("whole");
  log_of(training(folder, whole));
  const std::string parts = folder.at("parts");
  log_of(training(folder, parts));
  resume(whole, "24", other);
  resume(parts, "17", other);
  resume(parts, "24", {"--resume"});
  CHECK(weights_of(whole) == weights_of(parts));
}

TEST_CASE("models with many different settings, and a given one, train and resume to the same bits",
          "[cli]") {
  const Arguments llama = words(
      "--n_head 4 --n_kv_head 2 --norm_type rms --position rope --gated_mlp --n_inner 24 "
      "--activation silu --qkv_bias");
  const Arguments gemma = words(
      "--n_layer 2 --n_head 2 --head_width 8 --norm_type rms --norm_gain_plus_one --output_norms "
      "--qk_norm --embedding_scale 2.5 --position rope --rope_local_theta 100 --sliding_window 5 "
      "--sliding_window_pattern 2 --optimizer muon");
  const Arguments neox = words(
      "--position rope --rotary_pct 0.5 --parallel_residual --rope_scaling linear --rope_factor 2 "
      "--bias --dropout 0.1");
  const Arguments llama3 = words(
      "--position rope --rope_scaling llama3 --rope_factor 4 --low_freq_factor 0.5 "
      "--high_freq_factor 2 --original_max_position_embeddings 32");
  const TemporaryFolder models;
  const Gpt start({.vocab_size = 257, .block_size = 24, .n_layer = 1, .n_head = 1, .n_embd = 8});
  const Arguments from_model =
      words("--init_from", save_model(models, "start", start), "--block_size 10 --warmup_iters 0");
  for (const Arguments& keys : {llama, gemma, neox, llama3, from_model}) {
    const TemporaryFolder folder;
    const std::string whole = folder.at("whole");
    const std::string parts = folder.at("parts");
    log_of(changed(training(folder, whole, keys), {"--max_iters", "12"}));
    log_of(changed(training(folder, parts, keys),
                   {"--max_iters", "5", "--lr_decay_iters", "12", "--warmup_iters", "0"}));
    log_of({"train", "--resume", parts, "--max_iters", "12", "--threads", "1"});
    CHECK(weights_of(whole) == weights_of(parts));
    log_of({"generate", parts + "/latest", "--prompt", "Bird", "--max_new_tokens", "3"});
  }
}

TEST_CASE("names of runs and texts of checkpoints cannot control a terminal", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("r\x1b[2J\nsaved x");
  const std::string trained = log_of(training(folder, run));
  CHECK(contains(trained, "saved " + folder.at("r\\x1b[2J\\x0asaved x")));
  check_lacks(trained, {"\x1b", "\nsaved x"});

  const fs::path latest = fs::canonical(fs::path(run) / "latest");
  json state = json::parse(file_contents(latest / "state.json"));
  state["build"] = "of \x1b]0;x\x07 \xC2\x9B";
  std::ofstream(latest / "state.json") << state.dump();
  fs::remove(latest / "MANIFEST.json");
  headlight::write_manifest(latest);
  const std::string resumed = log_of({"train", "--resume", run, "--max_iters", "13"});
  CHECK(contains(resumed, "by headlight of \\x1b]0;x\\x07 \\xc2\\x9b, now "));
  CHECK_FALSE(contains(resumed, "\x1b"));
}

TEST_CASE("other data with the same number of tokens is detected and gets a warning", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run, {"--max_iters", "10"}));
  std::string text = corpus();
  text.replace(text.find("sings"), 5, "gnisn");
  text.replace(text.rfind("sings"), 5, "gnisn");  // in the validation data
  const std::string other = folder.write("other.txt", text);
  const std::string asked =
      log_of({"train", "--resume", run, "--data", other, "--max_iters", "12"});
  check_parts(asked,
              {"\ndata: different text than the run has trained on so far: ",
               "epoch 1 of the data ends after 10 of its ", "the best loss is reset", "(best)"});
  CHECK(contains(file_contents(run + "/config.toml"), "other.txt"));
  folder.write("other.txt", corpus());
  const std::string unasked = log_of({"train", "--resume", run, "--max_iters", "14"});
  CHECK(contains(unasked, "warning: data: different text than the run has trained on so far: "));
  // Equal text under another name counts as the same data.
  const std::string copy = folder.write("copy.txt", corpus());
  const std::string moved = log_of({"train", "--resume", run, "--data", copy, "--max_iters", "16"});
  CHECK_FALSE(contains(moved, "other text"));
}

TEST_CASE("a run whose config.toml names another optimizer resumes with its own", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run));
  std::string settings = file_contents(run + "/config.toml");
  const std::string own = "optimizer = \"adamw\"";
  REQUIRE(contains(settings, own));
  settings.replace(settings.find(own), own.size(), "optimizer = \"muon\"");
  folder.write("run/config.toml", settings);
  CHECK(contains(refusal({"train", "--resume", run}), "continue with --optimizer adamw"));
  log_of({"train", "--resume", run, "--optimizer", "adamw", "--max_iters", "14"});
  CHECK(contains(file_contents(run + "/config.toml"), own));
}

TEST_CASE("a momentum that begins later begins at zero", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run, {"--optimizer", "sgd", "--momentum", "0"}));
  const std::string later =
      log_of({"train", "--resume", run, "--momentum", "0.9", "--max_iters", "14"});
  CHECK(contains(later, "has no moments for sgd: they begin at zero"));
  const json state = json::parse(file_contents(fs::path(run) / "latest/state.json"));
  CHECK(state["optimizer_steps"] == 2);
  const std::string plain =
      log_of({"train", "--resume", run, "--momentum", "0", "--max_iters", "15"});
  CHECK_FALSE(contains(plain, "moments for"));
}

TEST_CASE("a run that was killed before its first checkpoint starts from the beginning", "[cli]") {
  const TemporaryFolder folder;
  const std::string whole = folder.at("whole");
  log_of(training(folder, whole));
  const std::string run = folder.at("run");
  log_of(training(folder, run));
  for (const char* name : {"latest", "best", "step_00000006", "step_00000012"}) {
    fs::remove_all(fs::path(run) / name);
  }
  const std::string resumed = log_of({"train", "--resume", run, "--threads", "1"});
  CHECK(contains(resumed, run + " has no checkpoint yet: starting from the beginning"));
  CHECK(weights_of(run) == weights_of(whole));
  CHECK(metrics_of(run) == metrics_of(whole));

  fs::create_directory(folder.path() / "empty");
  CHECK(contains(refusal(words("train --resume", folder.at("empty"))),
                 "no run to resume: expected checkpoints or a config.toml"));
}

TEST_CASE("the run to resume can be named in several ways", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run));
  const std::string weights = weights_of(run);
  for (const Arguments& way : std::vector<Arguments>{{"--resume", run},
                                                     {run, "--resume"},
                                                     {"--resume=" + run},
                                                     {"--resume", "--out_dir", run},
                                                     {"--init_from", "resume", "--out_dir", run}}) {
    Arguments arguments{"train"};
    arguments = changed(std::move(arguments), way);
    CHECK(
        contains(log_of(arguments), "where the run is finished; a larger max_iters continues it"));
  }
  const std::string file =
      folder.write("again.toml", "init_from = \"resume\"\nout_dir = \"" + run + "\"\n");
  CHECK(contains(log_of({"train", file}), "where the run is finished"));
  CHECK(weights_of(run) == weights);
  CHECK(contains(file_contents(run + "/config.toml"), "init_from = \"scratch\""));

  CHECK(contains(refusal({"train", run}), "continue a run with --resume"));
  CHECK(contains(refusal({"train", "--resume", run, run}), "expected one run directory"));
  CHECK(contains(refusal({"train", "--resume", run, "--out_dir", folder.at("x")}), "contradicts"));
  CHECK(contains(refusal({"train", "--resume", run + "/latest"}), "is a checkpoint"));
  CHECK(contains(refusal({"train", "--resume", folder.at("none")}), "no such run directory"));
}

TEST_CASE("more updates than the schedule was planned for get a warning", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run, {"--lr_decay_iters", "12"}));
  const std::string resumed = log_of({"train", "--resume", run, "--max_iters", "14"});
  CHECK(contains(resumed,
                 "from step 12 to 14 the learning rate is min_lr, 0.001, because lr_decay_iters "
                 "is given; extend the schedule with --lr_decay_iters 14"));
  const std::string follows =
      log_of({"train", "--resume", run, "--max_iters", "20", "--lr_decay_iters", "-1"});
  CHECK(contains(follows, "lr_decay_iters = 20 (was 12)"));
}

TEST_CASE("a longer run with warm-up stable decay continues as if planned from the start",
          "[cli]") {
  const TemporaryFolder folder;
  const Arguments wsd{"--lr_schedule", "wsd", "--warmup_iters", "2"};
  const std::string whole = folder.at("whole");
  const std::string run = folder.at("run");
  log_of(changed(training(folder, whole, wsd), {"--max_iters", "40"}));
  // The run stops after 16 of 24 steps, before the decay in the last 5.
  log_of(changed(training(folder, run, wsd), {"--max_iters", "16", "--lr_decay_iters", "24"}));
  const std::string resumed =
      log_of({"train", "--resume", run, "--max_iters", "40", "--lr_decay_iters", "40"});
  CHECK_FALSE(contains(resumed, "rises again"));
  CHECK(weights_of(run) == weights_of(whole));
  const std::string fallen =
      log_of({"train", "--resume", run, "--max_iters", "80", "--lr_decay_iters", "80"});
  CHECK(contains(fallen,
                 "warning: the learning rate rises again: at step 40 the old schedule has 0.001, "
                 "the new one 0.01; --lr_decay_iters 40 --warmup_iters 2 keeps the old one"));
}

TEST_CASE("a longer run whose rate had fallen is warned that it rises again", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run, {"--warmup_iters", "0"}));
  const std::string longer = log_of({"train", "--resume", run, "--max_iters", "24"});
  // The midpoint of a cosine from 0.01 to 0.001.
  CHECK(contains(longer,
                 "warning: the learning rate rises again: at step 12 the old schedule has 0.001, "
                 "the new one 0.0055; --lr_decay_iters 12 --warmup_iters 0 keeps the old one"));
  CHECK(json_lines(run + "/metrics.jsonl").back()["iteration"] == 24);
  const std::string kept = log_of(
      {"train", "--resume", run, "--max_iters", "30", "--lr_decay_iters", "24", "--eval_only"});
  CHECK_FALSE(contains(kept, "rises again"));
}

TEST_CASE("a stable rate does not fall back into a longer warm-up", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run, {"--lr_schedule", "wsd"}));
  const std::string resumed =
      log_of({"train", "--resume", run, "--max_iters", "400", "--eval_only"});
  CHECK(contains(resumed, "after step 12: lr_decay_iters = 400 (was 12), max_iters = 400"));
}

TEST_CASE("eval_only evaluates once and writes nothing", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.at("run");
  log_of(training(folder, run));
  const auto before = files_of(run);
  const std::string resumed = output_of({"train", "--resume", run, "--eval_only"});
  CHECK(resumed.starts_with("iter 12: validation loss "));
  const json report = report_of({"train", "--resume", run, "--eval_only=True"});
  const json last = json_lines(run + "/metrics.jsonl").back();
  CHECK(report["validation_loss"] == last["validation_loss"]);
  CHECK(report["iterations"] == 12);
  CHECK(files_of(run) == before);

  const std::string other = folder.at("other");
  const std::string fresh = output_of(training(folder, other, {"--eval_only", "true"}));
  CHECK(fresh.starts_with("iter 0: validation loss "));
  const std::string start =
      output_of(words("train --init_from", run, "--data", folder.at("data.txt"),
                      "--documents blank_line --batching padded --out_dir", other, "--eval_only"));
  CHECK(contains(start, last["validation_loss"].dump().substr(0, 5)));
  CHECK_FALSE(fs::exists(other));
  CHECK(contains(refusal(training(folder, other, {"--eval_only", "--validation_fraction", "0"})),
                 "eval_only: expected validation data"));
}

TEST_CASE("output to a file begins with the settings that differ from the defaults", "[cli]") {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_headlight(training(folder, folder.at("run"), {"--max_iters", "200"}));
  const std::vector<std::string> lines = result.messages();
  REQUIRE(lines.size() > 3);
  CHECK(lines[0].starts_with("settings: out_dir = "));
  CHECK(contains(lines[0], "n_layer = 1, n_head = 1, n_embd = 8, learning_rate = 0.01"));
  CHECK(lines[1] ==
        "not given: min_lr = 0.001 (learning_rate / 10), warmup_iters = 10 (max_iters / 20, at "
        "most 2000), lr_decay_iters = 200 (max_iters)");
  CHECK(lines[2].starts_with("computing with "));
}

TEST_CASE("a run and a preset find their data when started from any folder", "[cli]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "share/configs");
  fs::create_directories(folder.path() / "share/data");
  fs::create_directories(folder.path() / "elsewhere");
  folder.write("share/data/headlight_test.txt", corpus());
  const std::string preset = folder.write("share/configs/small.toml",
                                          "data = \"data/headlight_test.txt\"\nout_dir = \"run\"\n"
                                          "n_layer = 1\nn_head = 1\nn_embd = 8\nblock_size = 8\n"
                                          "batch_size = 2\nmax_iters = 2\n");
  {
    const InFolder here(folder.path() / "elsewhere");
    const std::string result = log_of({"train", preset});
    CHECK(contains(result,
                   "data: data/headlight_test.txt is not in the current folder, "
                   "but here: " +
                       folder.at("share/data/headlight_test.txt")));
    CHECK(fs::exists("run/config.toml"));
    CHECK(output_of({"info", preset}) != "");
  }
  // A run that was started with a path relative to a folder that is no longer current.
  {
    const InFolder here(folder.path() / "share");
    log_of({"train", "configs/small.toml", "--out_dir", "runs/small"});
  }
  const std::string resumed =
      log_of({"train", "--resume", folder.at("share/runs/small"), "--max_iters", "3"});
  CHECK(contains(resumed, "after step 2: lr_decay_iters = 3 (was 2), max_iters = 3 (was 2)"));
  const InFolder here(folder.path() / "share/runs/small");
  log_of({"train", "--resume", ".", "--max_iters", "4"});
}
}  // namespace resume_test
