#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

// Signals that end commands, with the real program.

// The program while it waits for standard input, which does not end.
struct WaitingProgram {
  pid_t process = 0;
  int input = -1;  // writing end
};

WaitingProgram start(const std::vector<std::string>& arguments) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> argv{const_cast<char*>(HEADLIGHT_PROGRAM)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      ::signal(signal, SIG_DFL);
    }
    ::dup2(pipe[0], STDIN_FILENO);
    ::close(pipe[1]);
    ::execv(HEADLIGHT_PROGRAM, argv.data());
    ::_exit(127);
  }
  ::close(pipe[0]);
  return {child, pipe[1]};
}

TEST_CASE("a command ended by a signal leaves the old file and no part of the new one") {
  const TemporaryFolder folder;
  const TemporaryFolder outputs;
  const std::string text = folder.write("text.txt", "One day, Nora lost her red kite.\n");
  const std::string tokenizer = folder.at("tokenizer");
  REQUIRE(run_headlight(words("tokenizer train", text, "--vocab_size 260 --out", tokenizer))
              .exit_code == 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string out = outputs.write("ids.bin", "old");
    const WaitingProgram program = start({"tokenizer", "encode", tokenizer, "-", "--out", out});
    while (outputs.names().size() < 2) {  // the new file
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::kill(program.process, signal);
    int status = 0;
    ::waitpid(program.process, &status, 0);
    ::close(program.input);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
    CHECK(outputs.names() == std::vector<std::string>{"ids.bin"});
    CHECK(file_contents(out) == "old");
  }
}
