#include "support/programs/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "support/files.h"

extern char** environ;

namespace headlight::test {
namespace {

constexpr double kHangs = 120;  // seconds; runs take a few seconds here

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

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  auto pointers =
      mapped<char*>(texts, [](const std::string& text) { return const_cast<char*>(text.c_str()); });
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Ending::errors() const {
  std::vector<std::string> lines = lines_of(err);
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("error: "); });
  return lines;
}

std::string Ending::summary() const {
  std::string text = hung ? "it hangs" : "exit code " + std::to_string(code);
  for (const std::string& line : errors()) {
    text += "; " + line;
  }
  return text;
}

Process::Process(const std::vector<std::string>& command, const Environment& environment,
                 std::filesystem::path output, const std::string& input)
    : output_(std::move(output)) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (output_ / "out").c_str(), kNew, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (output_ / "err").c_str(), kNew, 0600);
  const std::vector<std::string> variables = whole_environment(environment);
  const int error = posix_spawn(&id_, command.front().c_str(), &actions, nullptr,
                                pointers_to(command).data(), pointers_to(variables).data());
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
          .out = file_contents(output_ / "out"),
          .err = messages()};
}

std::string Process::messages() const { return file_contents(output_ / "err"); }

}  // namespace headlight::test
