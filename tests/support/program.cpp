#include "support/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

std::vector<std::string> ProgramResult::messages() const {
  std::vector<std::string> lines;
  std::istringstream in(err);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

namespace {

ProgramResult run(const std::vector<std::string>& command, const std::string& input = "/dev/null") {
  const ScratchFolder folder;
  const std::string out = folder.at("out");
  const std::string err = folder.at("err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<char*> argv;
  for (const std::string& argument : command) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
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

ProgramResult run_headlight_reading(const std::string& input,
                                    const std::vector<std::string>& arguments) {
  const ScratchFolder folder;
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

bool has_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "headlight_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make " + pattern);
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& contents) const {
  std::ofstream(path_ / name, std::ios::binary) << contents;
  return at(name);
}

std::string file_contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream contents;
  contents << in.rdbuf();
  return contents.str();
}
