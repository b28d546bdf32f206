#include <sys/wait.h>

#include "support/test.h"

namespace error_messages_test {
// Refusals that need more than a command line. messages.txt has the others.

// Model of two layers with two heads, and a text.
struct Given {
  Given() {
    fs::create_directory(model);
    write_model_files(model, *test::lively_model(257, 32), ByteTokenizer());
  }

  TemporaryFolder folder;
  std::string model = folder.at("model");
  std::string text = folder.write("text.txt", "A text of some words, and of some more words.");
};

TEST_CASE("a long value is cut in a message", "[cli]") {
  const std::string message = refusal({"train", "--n_layer", std::string(100000, '9') + "x"});
  CHECK(message.size() <= 1010);
  CHECK(contains(message, "--n_layer: expected a whole number, got '999"));
  CHECK(message.ends_with("999x'"));
  CHECK(contains(message, "999...999"));
}

TEST_CASE("a path that the system refuses is named with the system's reason", "[cli]") {
  const Given given;
  const std::string name(5000, 'n');
  for (const Arguments& arguments :
       {Arguments{"train", "--data", name, "--log_level", "error"}, Arguments{"info", name},
        Arguments{"eval", name}, Arguments{"tokenizer", "info", name}, Arguments{"train", name}}) {
    const std::string message = refusal(arguments);
    CAPTURE(message);
    CHECK(contains(message, "nnnnn"));
  }
  const std::string missing = given.folder.at("missing");
  CHECK(refusal({"eval", missing}) == "error: " + missing + ": no such directory");
  const std::string file = given.folder.write("file", "x");
  check_refused({"attention", given.model, "--text", "ab", "--out", file + "/maps"},
                {file + "/maps: cannot create this directory"});
}

TEST_CASE("every command fails when its output cannot be written", "[cli]") {
  const Given given;
  for (const std::string& command :
       {std::string("--version"), "info " + given.model,
        "attention " + given.model + " --text ab --format text",
        "generate " + given.model + " --prompt ab --max_new_tokens 2 --log_level error"}) {
    CAPTURE(command);
    const std::string errors = given.folder.at("errors");
    const std::string line =
        std::string(HEADLIGHT_PROGRAM) + " " + command + " >/dev/full 2>" + errors;
    CHECK(WEXITSTATUS(std::system(line.c_str())) == 1);
    CHECK(file_contents(errors) == "error: stdout: cannot be written\n");
  }
}

TEST_CASE("the largest possible numbers as options cause no crash", "[cli]") {
  const Given given;
  const std::string most = "9223372036854775807";
  const std::string model = given.folder.at("hello");
  fs::create_directory(model);
  write_model_files(model, *test::scripted_model(257, test::script_of("hello")), ByteTokenizer());
  const std::string printed =
      output_of(words("generate", model, "--prompt ? --max_new_tokens", most, "--top_k", most,
                      "--repetition_window", most, "--seed", most));
  CHECK(printed == "?hello\n");
  output_of({"eval", given.model, "--data", given.text, "--batch_size", most});
}

TEST_CASE("training that diverges is a failure, not bad input", "[cli]") {
  const Given given;
  const ProgramResult result = run_headlight(
      words("train --data", given.text, "--out_dir", given.folder.at("run"),
            "--n_layer 1 --n_head 1 --n_embd 4 --block_size 4 --max_iters 3 --log_level error "
            "--learning_rate 1e30 --decay_lr false --warmup_iters 0"));
  CHECK(result.exit_code == 1);
  REQUIRE(result.messages().size() == 1);
  CHECK(result.messages()[0].starts_with("error: step "));
  CHECK(result.messages()[0].find("is not finite; try a smaller learning_rate") !=
        std::string::npos);
}

TEST_CASE("help is printed for every usual spelling", "[cli]") {
  const std::string help = run_headlight({"eval", "--help"}).out;
  CHECK(run_headlight({"eval", "-h"}).out == help);
  CHECK(run_headlight({"help", "eval"}).out == help);
}

TEST_CASE("arguments after -- are not options", "[cli]") {
  const Given given;
  const std::string printed = output_of({"tokenizer", "show", "--json", "--", given.model, "-5"});
  CHECK(contains(printed, "\"label\":\"-\""));
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
}  // namespace error_messages_test
