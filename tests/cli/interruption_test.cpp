#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/programs/process.h"
#include "support/test.h"

// Signals that end commands, with the real program.

TEST_CASE("a command ended by a signal leaves the old file and no part of the new one") {
  const TemporaryFolder folder;
  const TemporaryFolder outputs;
  const std::string text = folder.write("text.txt", "One day, Nora lost her red kite.\n");
  const std::string tokenizer = folder.at("tokenizer");
  REQUIRE(run_headlight(words("tokenizer train", text, "--vocab_size 260 --out", tokenizer))
              .exit_code == 0);
  const std::string pipe = folder.at("pipe");  // input that does not end
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int writer = ::open(pipe.c_str(), O_RDWR);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string out = outputs.write("ids.bin", "old");
    ::signal(signal, SIG_DFL);  // the program inherits what is ignored
    Process program(words(HEADLIGHT_PROGRAM " tokenizer encode", tokenizer, "- --out", out), {},
                    folder.path(), pipe);
    while (outputs.names().size() < 2) {  // the new file
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    program.send(signal);
    CHECK(program.wait().code == 128 + signal);
    CHECK(outputs.names() == std::vector<std::string>{"ids.bin"});
    CHECK(file_contents(out) == "old");
  }
  ::close(writer);
}
