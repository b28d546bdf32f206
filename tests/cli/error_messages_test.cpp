#include <sys/wait.h>

#include "support/saved_model.h"
#include "support/test.h"

// Refusals that need more than a command line. messages.txt has the others.

TEST_CASE("a long value is cut in a message") {
  const std::string message = refusal({"train", "--n_layer", std::string(100000, '9') + "x"});
  CHECK(message.size() <= 1010);
  CHECK(contains(message, "--n_layer: expected a whole number, got '999"));
  CHECK(message.ends_with("999x'"));
  CHECK(contains(message, "999...999"));
}

TEST_CASE("a path that the system refuses is named with the system's reason") {
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

TEST_CASE("every command fails when its output cannot be written") {
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

TEST_CASE("an instruction set that the machine lacks is refused by name") {
  check_refused({"train", "--cpu_variant", "v9"}, {"cpu_variant", "v9", "baseline"});
  check_refused(words("train --dtype bfloat16 --cpu_variant baseline"),
                {"bfloat16", "AVX512-BF16"});
}

TEST_CASE("a configuration of deeply nested tables is refused at any depth") {
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
