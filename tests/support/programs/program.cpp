#include "support/programs/program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "support/files.h"
#include "support/programs/process.h"

extern char** environ;

using headlight::test::file_contents;
using headlight::test::pointers_to;
using headlight::test::TemporaryFolder;

std::vector<std::string> ProgramResult::messages() const { return headlight::test::lines_of(err); }

namespace {

ProgramResult run(const std::vector<std::string>& command, const std::string& input = "/dev/null") {
  const TemporaryFolder folder;
  const std::string out = folder.at("out");
  const std::string err = folder.at("err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  const std::vector<char*> argv = pointers_to(command);
  setenv("LC_ALL", "C.UTF-8", 1);  // the caller's locale chooses no language
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error("cannot start " + command[0]);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), file_contents(out),
          file_contents(err), usage.ru_maxrss};
}

}  // namespace

ProgramResult run_headlight(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{HEADLIGHT_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command);
}

ProgramResult run_headlight_with(const std::vector<std::string>& environment,
                                 const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"/usr/bin/env", "-u", "LC_ALL", "-u",
                                   "LC_MESSAGES",  "-u", "LANG"};
  command.insert(command.end(), environment.begin(), environment.end());
  command.push_back(HEADLIGHT_PROGRAM);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command);
}

ProgramResult run_headlight_reading(const std::string& input,
                                    const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::vector<std::string> command{HEADLIGHT_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command, folder.write("input", input));
}

ProgramResult run_headlight_within(long kilobytes, const std::vector<std::string>& arguments) {
  const std::string limit = has_sanitizer() ? "" : "ulimit -v " + std::to_string(kilobytes) + "; ";
  std::vector<std::string> command{"/bin/sh", "-c", limit + "exec \"$0\" \"$@\"",
                                   HEADLIGHT_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command);
}

namespace {

// Program in a terminal, with only stderr or with all streams on it.
struct TerminalProgram {
  pid_t child = 0;
  int terminal = -1;

  TerminalProgram(int columns, const std::vector<std::string>& command, bool only_errors) {
    const std::vector<char*> argv = pointers_to(command);
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      if (only_errors) {
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0);
        dup2(nothing, 1);
      }
      execv(argv[0], argv.data());
      _exit(127);
    }
    if (child < 0) {
      throw std::runtime_error("cannot open a terminal");
    }
  }

  // Appends the next output of the program; false at its end.
  bool read_more(std::string& text) const {
    std::array<char, 4096> bytes;
    const ssize_t count = read(terminal, bytes.data(), bytes.size());
    text.append(bytes.data(), static_cast<std::size_t>(count > 0 ? count : 0));
    return count > 0;
  }

  int exit_code() const {
    close(terminal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

std::vector<std::string> terminal_command(const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& more) {
  std::vector<std::string> command{"/usr/bin/env", "-u", "NO_COLOR", "TERM=xterm"};
  command.insert(command.end(), more.begin(), more.end());
  command.push_back(HEADLIGHT_PROGRAM);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

ProgramResult run_headlight_on_terminal(int columns, const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& more) {
  const TerminalProgram program(columns, terminal_command(arguments, more), true);
  ProgramResult result;
  while (program.read_more(result.err)) {
  }
  result.exit_code = program.exit_code();
  return result;
}

ProgramResult run_headlight_typing(const std::vector<TypedKeys>& keys,
                                   const std::vector<std::string>& arguments) {
  // libedit never frees the names of the functions that a program adds.
  const std::string without_leaks = "ASAN_OPTIONS=detect_leaks=0";
  const TerminalProgram program(80, terminal_command(arguments, {without_leaks}), false);
  ProgramResult result;
  std::size_t seen = 0;
  auto next = keys.begin();
  while (true) {
    while (next != keys.end()) {
      const std::size_t place = result.out.find(next->after, seen);
      if (place == std::string::npos) {
        break;
      }
      seen = place + next->after.size();
      if (write(program.terminal, next->keys.data(), next->keys.size()) < 0) {
        break;
      }
      ++next;
    }
    pollfd waiting{.fd = program.terminal, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 30'000) == 0) {
      kill(program.child, SIGKILL);
    }
    if (!program.read_more(result.out)) {
      break;
    }
  }
  result.exit_code = program.exit_code();
  return result;
}

bool has_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}
