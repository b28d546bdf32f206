#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::test {

using Environment = std::map<std::string, std::string>;

// Exit code and output of a program.
struct Ending {
  int code = -1;  // 128 + number if a signal ended it
  bool hung = false;
  std::string out = {};
  std::string err = {};

  // Lines of err that begin with "error: ".
  std::vector<std::string> errors() const;
  // Exit code and errors in one line.
  std::string summary() const;
};

// Arguments in the form that execv() needs.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

// Running program. The destructor kills it.
class Process {
 public:
  // `output`: folder for the files out and err.
  Process(const std::vector<std::string>& command, const Environment& environment,
          std::filesystem::path output, const std::string& input = "/dev/null");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;
  // Child processes of the program.
  std::vector<pid_t> children() const;
  // Returns true if the program ends within this time.
  bool ends_within(double seconds);
  // Waits for the end. Kills a program that hangs.
  Ending wait();
  // Text on stderr so far.
  std::string messages() const;

 private:
  std::filesystem::path output_;
  pid_t id_ = 0;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace headlight::test
