#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::fault {

using Environment = std::map<std::string, std::string>;

// How a program ended.
struct Ending {
  int code = -1;  // 128 + number when a signal ended it
  bool hung = false;
  std::string out = {};
  std::string err = {};

  // The lines of err that begin with "error: ".
  std::vector<std::string> errors() const;
  // The exit code and the errors, in one line.
  std::string summary() const;
};

// A program that runs. It is killed when it goes out of scope.
class Process {
 public:
  // `output`: a folder that gets the files out and err.
  Process(const std::vector<std::string>& command, const Environment& environment,
          std::filesystem::path output);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;
  // The processes that it has started itself.
  std::vector<pid_t> children() const;
  // True when it ends within this time.
  bool ends_within(double seconds);
  // Waits for the end; one that hangs is killed.
  Ending wait();
  // What it has said on stderr so far.
  std::string messages() const;

 private:
  std::filesystem::path output_;
  pid_t id_ = 0;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace headlight::fault
