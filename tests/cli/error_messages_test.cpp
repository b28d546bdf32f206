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
