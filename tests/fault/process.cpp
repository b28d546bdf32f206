#include "fault/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/files.h"

extern char** environ;

namespace headlight::fault {
namespace {

constexpr double kHangs = 120;  // seconds; runs take a few seconds here

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> whole_environment(const Environment& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (added.count(text.substr(0, text.find('='))) == 0) {
      all.push_back(text);
    }
  }
  for (const auto& [name, value] : added) {
    all.push_back(name + "=" + value);
  }
  return all;
}

}  // namespace

std::vector<std::string> Ending::errors() const {
  std::vector<std::string> found;
  std::istringstream in(err);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("error: ", 0) == 0) {
      found.push_back(line);
    }
  }
  return found;
}

std::string Ending::summary() const {
  std::string text = hung ? "it hangs" : "exit code " + std::to_string(code);
  for (const std::string& line : errors()) {
    text += "; " + line;
  }
  return text;
}

Process::Process(const std::vector<std::string>& command, const Environment& environment,
                 std::filesystem::path output)
    : output_(std::move(output)) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (output_ / "out").c_str(), kNew, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (output_ / "err").c_str(), kNew, 0600);
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = whole_environment(environment);
  const int error = posix_spawn(&id_, command.front().c_str(), &actions, nullptr,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error("cannot start " + command.front());
  }
}

Process::~Process() {
  if (!ended_) {
    send(SIGKILL);
    ::waitpid(id_, &status_, 0);
  }
}

void Process::send(int signal) const {
  if (!ended_) {
    ::kill(id_, signal);
  }
}

std::vector<pid_t> Process::children() const {
  std::ifstream list("/proc/" + std::to_string(id_) + "/task/" + std::to_string(id_) + "/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

// Counts at most kMostOfALook seconds between two checks. Otherwise a machine that was suspended
// for minutes would make its programs look as if they hung.
bool Process::ends_within(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr double kMostOfALook = 0.1;
  auto last = Clock::now();
  for (double passed = 0; !ended_;) {
    ended_ = ::waitpid(id_, &status_, WNOHANG) == id_;
    if (!ended_ && passed >= seconds) {
      return false;
    }
    if (!ended_) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    const auto now = Clock::now();
    passed += std::min(std::chrono::duration<double>(now - last).count(), kMostOfALook);
    last = now;
  }
  return true;
}

Ending Process::wait() {
  const bool hung = !ends_within(kHangs);
  if (hung) {
    send(SIGKILL);
    ends_within(kHangs);
  }
  return {.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
          .hung = hung,
          .out = test::file_contents(output_ / "out"),
          .err = messages()};
}

std::string Process::messages() const { return test::file_contents(output_ / "err"); }

}  // namespace headlight::fault
