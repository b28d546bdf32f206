#include "support/test.h"

namespace preference_runs_test {
// Runs on pairs of answers, with the real program.

// A model of bytes to start from.
std::string start_model(const TemporaryFolder& folder) {
  const std::string run = folder.at("start");
  output_of(words("train --data", folder.write("text.txt", "Is it so? yes no yes no. "),
                  "--tokenizer byte --n_layer 1 --n_head 2 --n_embd 16 --block_size 24 --max_iters "
                  "2 --batch_size 2 --out_dir",
                  run));
  return run;
}

std::string pair(int i, const std::string& chosen, const std::string& rejected) {
  return R"({"prompt": ")" + std::to_string(i) + R"(? ", "chosen": ")" + chosen +
         R"(", "rejected": ")" + rejected + "\"}\n";
}

std::string pairs(const TemporaryFolder& folder) {
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    lines += pair(i, i % 2 == 0 ? "yes" : "yes, yes", i % 3 == 0 ? "no" : "no, never");
  }
  return folder.write("pairs.jsonl", lines);
}

Arguments tuning(const TemporaryFolder& folder, const std::string& run,
                 const Arguments& more = {}) {
  return changed(words("train --init_from", folder.at("start"), "--data", pairs(folder),
                       "--out_dir", folder.at(run),
                       "--batch_size 4 --learning_rate 0.01 --warmup_iters 1 --eval_interval 3 "
                       "--max_iters 6 --lr_decay_iters 6"),
                 more);
}

std::string reference_of(const TemporaryFolder& folder, const std::string& run) {
  return file_contents(folder.at(run) + "/reference.safetensors");
}

void check_same_runs(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  CHECK(weights_of(folder.at(a)) == weights_of(folder.at(b)));
  CHECK(metrics_of(folder.at(a)) == metrics_of(folder.at(b)));
  CHECK(reference_of(folder, a) == reference_of(folder, b));
}

TEST_CASE("a run on pairs of answers learns the preferred ones", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  const std::string log = log_of(
      tuning(folder, "run", {"--max_iters", "30", "--eval_interval", "10", "--metrics_csv"}));
  check_parts(log, {"20 pairs of answers; ", "100.0 % of 2 pairs preferred, margin "});
  const auto metrics = metrics_of(folder.at("run"));
  CHECK(metrics.front()["loss"] == Approx(0.693147).epsilon(1e-4));
  CHECK(metrics.back()["validation_accuracy"] == 1);
  CHECK(metrics.back()["validation_margin"] > 0.5);
  CHECK(metrics.back()["validation_perplexity"].is_null());
  CHECK(contains(file_contents(folder.at("run") + "/metrics.csv"),
                 "validation_accuracy,validation_margin"));
  CHECK(metrics.back()["validation_loss"] < 0.5);
}

TEST_CASE("preference tuning has its own default rates", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = start_model(folder);
  CHECK(contains(
      log_of(tuning(folder, "text", {"--data", folder.at("text.txt"), "--dpo_beta", "0.2"})),
      "dpo_beta has no effect: the data has no pairs of answers"));
  const Arguments plain = words("train --init_from", start, "--data", pairs(folder),
                                "--max_iters 1 --out_dir", folder.at("run"));
  CHECK(contains(log_of(plain), "learning_rate 1e-6"));
  Arguments lora = changed(plain, {"--out_dir", folder.at("lora")});
  lora.insert(lora.end(), {"--lora_rank", "2"});
  CHECK(contains(log_of(lora), "learning_rate 1e-5"));
}

TEST_CASE("a resumed run on pairs has the same bits and its first reference", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  const bool has_lora = GENERATE(false, true);
  const Arguments kind =
      has_lora ? words("--lora_rank 2 --lora_dropout 0.1") : Arguments{"--ema_decay", "0.5"};
  const auto run = [&](const std::string& name, const Arguments& more) {
    log_of(changed(tuning(folder, name, kind), more));
  };
  run("whole", {});
  run("halves", {"--max_iters", "3"});
  const std::string first = reference_of(folder, "halves");
  log_of({"train", "--resume", folder.at("halves"), "--max_iters", "6"});
  CHECK(reference_of(folder, "halves") == first);
  CHECK(first == reference_of(folder, "whole"));
  const std::string file =
      has_lora ? "/latest/adapter_model.safetensors" : "/latest/model.safetensors";
  CHECK(file_contents(folder.at("whole") + file) == file_contents(folder.at("halves") + file));
  const auto of_whole = metrics_of(folder.at("whole"));
  CHECK(of_whole.back()["validation_loss"] ==
        metrics_of(folder.at("halves")).back()["validation_loss"]);
  const ProgramResult again =
      run_headlight({"train", "--resume", folder.at("whole"), "--eval_only"});
  CHECK(contains(again.out + again.err, "pairs preferred, margin "));
}

TEST_CASE("a run on pairs that was killed before its first checkpoint starts again", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  log_of(tuning(folder, "whole"));
  log_of(tuning(folder, "killed", {"--max_iters", "2"}));
  for (const auto& entry : fs::directory_iterator(folder.at("killed"))) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step_") || name == "latest" || name == "best") {
      fs::remove_all(entry.path());
    }
  }
  if (GENERATE(true, false)) {
    fs::remove(folder.at("killed") + "/reference.safetensors");
  }
  log_of({"train", "--resume", folder.at("killed"), "--max_iters", "6"});
  check_same_runs(folder, "whole", "killed");
}

TEST_CASE("a run cannot continue with other pairs or without its reference", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  log_of(tuning(folder, "run", {"--max_iters", "3"}));
  const std::string before = weights_of(folder.at("run"));
  const std::string other = folder.write("other.jsonl", pair(3, "yes", "no") + pair(4, "a", "b"));
  check_refused(words("train --resume", folder.at("run"), "--data", other, "--max_iters 6"),
                {"reference.safetensors: has the reference of other pairs (train)"});
  const Arguments resume{"train", "--resume", folder.at("run"), "--max_iters", "6"};
  const std::string file = folder.at("run") + "/reference.safetensors";
  fs::resize_file(file, 50);
  check_refused(resume, {"reference.safetensors"});
  fs::remove(file);
  check_refused(resume, {"reference.safetensors: no such file", "start a new run"});
  check_refused(changed(resume, {"--dpo_beta", "0.3"}), {"dpo_beta"});
  CHECK(weights_of(folder.at("run")) == before);
}

TEST_CASE("settings that make no sense for pairs of answers are refused", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  const std::string data = pairs(folder);
  const std::string text = folder.write("other.txt", "One day it rained. Two days it rained.");
  const std::string chat =
      folder.write("chat.jsonl", R"({"prompt": "a", "completion": "b"})" + std::string("\n"));
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"--label_smoothing 0.1", "label_smoothing: "},
           {"--z_loss 0.1", "z_loss: "},
           {"--learn all", "learn: "},
           {"--batching packed", "batching: "},
           {"--init_from scratch --batching padded", "init_from: "},
           {"--dpo_beta 0", "dpo_beta: "},
           {"--validation_data " + text, "validation_data: expected pairs of answers, as in data"},
           {"--data " + data + "," + chat, "data: expected files of one kind"},
           {"--validation_data " + data + " --data " + chat,
            "validation_data: expected no pairs of answers, as in data"}}) {
    check_refused(tuning(folder, "run", split_words(options)), {message});
    CHECK_FALSE(fs::exists(folder.at("run")));
  }
}

TEST_CASE("the preferred answer of the first pair is shown as training reads it", "[cli]") {
  const TemporaryFolder folder;
  const auto tokens =
      report_of(words("tokenizer show", start_model(folder), "--template", pairs(folder), "--json"))
          .at("tokens");
  CHECK(std::count_if(tokens.begin(), tokens.end(), [](const auto& token) {
          return token["learned"].template get<bool>();
        }) == 4);
}

TEST_CASE("heads are tracked on pairs of answers", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  log_of(tuning(folder, "run", {"--track_heads", "3"}));
  CHECK(json_lines(folder.at("run") + "/heads.jsonl").size() == 3);
}

TEST_CASE("eval compares pairs of answers with the model before training", "[cli]") {
  const TemporaryFolder folder;
  start_model(folder);
  const std::string data = pairs(folder);
  const bool has_lora = GENERATE(false, true);
  const Arguments more = has_lora ? Arguments{"--lora_rank", "2"} : Arguments{};
  log_of(changed(tuning(folder, "run", more), {"--validation_data", data}));
  const std::string run = folder.at("run");
  const auto last = metrics_of(run).back();
  const std::string latest = run + "/latest";
  const nlohmann::json named =
      report_of({"eval", latest, "--data", data, "--reference", folder.at("start")});
  CHECK(named["pairs"] == 20);
  CHECK(named["loss"] == Approx(last["validation_loss"]).epsilon(1e-5));
  CHECK(named["accuracy"] == last["validation_accuracy"]);
  CHECK(named["margin"] == Approx(last["validation_margin"]).epsilon(1e-4));
  const nlohmann::json own = report_of({"eval", folder.at("start"), "--data", data});
  CHECK(own["loss"] == Approx(0.693147).epsilon(1e-5));
  CHECK(own["margin"] == 0);
  // The base of an adapter and the start of a run are found.
  CHECK(report_of({"eval", run, "--data", data})["margin"].get<double>() != 0);
  CHECK(contains(refusal({"eval", run, "--data", data, "--per_token"}),
                 "--per_token: is not supported with pairs of answers"));
}

TEST_CASE("the reference of a run on pairs is the step that it started from", "[cli]") {
  const TemporaryFolder folder;
  const std::string start = start_model(folder);
  log_of(tuning(folder, "run"));
  const Arguments eval{"eval", folder.at("run"), "--data", pairs(folder)};
  const nlohmann::json before = report_of(eval);
  const fs::path step = fs::canonical(start + "/best");
  log_of({"train", "--resume", start, "--max_iters", "9", "--keep_checkpoints", "9"});
  REQUIRE(fs::canonical(start + "/best") != step);
  CHECK(report_of(eval)["margin"] == before["margin"]);
  fs::remove(step / "MANIFEST.json");
  fs::copy_file(start + "/latest/model.safetensors", step / "model.safetensors",
                fs::copy_options::overwrite_existing);
  CHECK_THAT(refusal(eval),
             contains_text("has other weights than then") && contains_text("with --reference"));
  fs::remove_all(step);
  CHECK(contains(refusal(eval), "is not here"));
}
}  // namespace preference_runs_test
