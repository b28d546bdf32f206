#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Runs the built program as a user would.
struct ProgramResult {
  int exit_code = -1;  // 128 + number when a signal ended it
  std::string out;
  std::string err;
  long peak_kilobytes = 0;  // the most memory that it had in use at once (peak resident set)

  // Lines of err.
  std::vector<std::string> messages() const;
};

ProgramResult run_headlight(const std::vector<std::string>& arguments);

// The same with `input` on standard input, which is empty otherwise.
ProgramResult run_headlight_reading(const std::string& input,
                                    const std::vector<std::string>& arguments);

// The same with at most so much address space, as `ulimit -v` sets it. Programs built with a
// sanitizer take terabytes of it: they run without the limit (see has_sanitizer).
ProgramResult run_headlight_within(long kilobytes, const std::vector<std::string>& arguments);

// The same with standard error on a terminal that is so wide; `err` is what the terminal got.
// `more` is added to the environment, as "NAME=VALUE".
ProgramResult run_headlight_on_terminal(int columns, const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& more = {});

// True when tests and program are built with AddressSanitizer or ThreadSanitizer.
bool has_sanitizer();

// A folder that is empty at first and gone at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The path of a name inside.
  std::string at(const std::string& name) const { return (path_ / name).string(); }
  // Writes a file inside; returns its path.
  std::string write(const std::string& name, const std::string& contents) const;

 private:
  std::filesystem::path path_;
};

std::string file_contents(const std::filesystem::path& path);
