#include <sys/wait.h>

#include "support/saved_model.h"
#include "support/test.h"

// Refusals that need more than a command line. messages.txt has the others.

TEST_CASE("a long value is cut in a message", "[cli]") {
  const std::string message = refusal({"train", "--n_layer", std::string(100000, '9') + "x"});
  CHECK(message.size() <= 1010);
  CHECK(contains(message, "--n_layer: expected a whole number, got '999"));
  CHECK(message.ends_with("999x'"));
  CHECK(contains(message, "999...999"));
}

TEST_CASE("a path that the system refuses is named with the system's reason", "[cli]") {
  const SavedModel given;
  const std::string name(5000, 'n');
  for (const Arguments& arguments :
       {words("train --log_level error --data", name), words("info", name), words("eval", name),
        words("tokenizer info", name), words("train", name)}) {
    check_parts(refusal(arguments), {"nnnnn"});
  }
  const std::string file = given.folder.write("file", "x");
  check_refused(words("attention", given.model, "--text ab --out", file + "/maps"),
                {file + "/maps: cannot create this directory"});
}

TEST_CASE("every command fails when its output cannot be written", "[cli]") {
  const SavedModel given;
  const std::string errors = given.folder.at("errors");
  for (const std::string& command :
       {std::string("--version"), "info " + given.model,
        "attention " + given.model + " --text ab --format text",
        "generate " + given.model + " --prompt ab --max_new_tokens 2 --log_level error"}) {
    CAPTURE(command);
    const std::string line = HEADLIGHT_PROGRAM " " + command + " >/dev/full 2>" + errors;
    CHECK(WEXITSTATUS(std::system(line.c_str())) == 1);
    CHECK(file_contents(errors) == "error: stdout: cannot be written\n");
  }
}

TEST_CASE("the largest possible numbers as options cause no crash", "[cli]") {
  const SavedModel given;
  const std::string most = "9223372036854775807";
  const std::string hello =
      save_model(given.folder, "hello", *scripted_model(257, script_of("hello")));
  CHECK(output_of(words("generate", hello, "--prompt ? --max_new_tokens", most, "--top_k", most,
                        "--repetition_window", most, "--seed", most)) == "?hello\n");
  output_of(words("eval", given.model, "--data", given.text, "--batch_size", most));
}

TEST_CASE("training that diverges is a failure, not bad input", "[cli]") {
  const SavedModel given;
  const ProgramResult result = run_headlight(
      words("train --data", given.text, "--out_dir", given.folder.at("run"),
            "--n_layer 1 --n_head 1 --n_embd 4 --block_size 4 --max_iters 3 --log_level error "
            "--learning_rate 1e30 --decay_lr false --warmup_iters 0"));
  CHECK(result.exit_code == 1);
  REQUIRE(result.messages().size() == 1);
  check_parts(result.err, {"error: step ", "is not finite; try a smaller learning_rate"});
}

TEST_CASE("arguments after -- are not options", "[cli]") {
  const SavedModel given;
  CHECK(
      contains(output_of(words("tokenizer show --json --", given.model, "-5")), "\"label\":\"-\""));
}

TEST_CASE("sizes that no memory could hold are refused before allocation", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", std::string(400, 'a') + std::string(400, 'b'));
  check_refused(
      words("train --data", data, "--out_dir", folder.at("run"), "--n_head 1 --n_embd 1000000"),
      {"parameters", "MB", "n_embd"});
  CHECK(!fs::exists(folder.path() / "run"));
}

TEST_CASE("a run directory that is in use or damaged is never overwritten", "[cli]") {
  const TemporaryFolder folder;
  const std::string data = folder.write("data.txt", std::string(400, 'a') + std::string(400, 'b'));
  const std::string run = folder.at("run");
  const Arguments train = words("train --data", data, "--out_dir", run,
                                "--n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --max_iters 1");
  REQUIRE(run_headlight(train).exit_code == 0);
  check_refused(train, {run, "--resume"});
  const Arguments other = changed(train, {"--resume", "--n_layer", "2", "--max_iters", "2"});
  check_refused(other, {"--resume", "n_layer was 1, is now 2"});

  const std::string weights = run + "/latest/model.safetensors";
  fs::resize_file(weights, fs::file_size(weights) - 1);
  check_refused({"generate", run, "--prompt", "a"}, {"model.safetensors"});
}

TEST_CASE("an instruction set that the machine lacks is refused by name", "[cli]") {
  check_refused({"train", "--cpu_variant", "v9"}, {"cpu_variant", "v9", "baseline"});
  check_refused(words("train --dtype bfloat16 --cpu_variant baseline"),
                {"bfloat16", "AVX512-BF16"});
}

TEST_CASE("a configuration of deeply nested tables is refused at any depth", "[cli]") {
  const TemporaryFolder folder;
  std::string key = "a";
  while (key.size() < 1000000) {
    key += ".a";
  }
  for (const std::string& text : {key + " = 1\n", "[" + key + "]\nb = 1\n"}) {
    const std::string file = folder.write("deep.toml", text);
    const ProgramResult result = run_headlight({"train", file});
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err == "error: " + file + ": line 1: more than 64 dots\n");
  }
}
