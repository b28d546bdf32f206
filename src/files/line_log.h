#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "headlight/base/error.h"
#include "headlight/base/index.h"

namespace headlight {

// A file of lines that grows while a program runs. A line that the disk does not take is kept and
// written before the next one.
class LineLog {
 public:
  using Keep = std::function<bool(const std::string&)>;
  using OnFailure = std::function<void(const Error&)>;

  // Makes the file, or drops the lines of it that `keep` does not want. Failures of append() go to
  // `on_failure`, which may throw. Throws Error when the file cannot be read, written or opened.
  LineLog(std::filesystem::path path, const Keep& keep, OnFailure on_failure);
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  // Drops lines. Throws Error as the constructor does.
  void cut(const Keep& keep);
  // Without the end of the line.
  void append(const std::string& line);
  // Waits until the lines that the file has are on the disk; another thread may append meanwhile.
  // Throws Error.
  void flush() const;

 private:
  void write_waiting();
  void open();

  std::filesystem::path path_;
  OnFailure on_failure_;
  int descriptor_ = -1;
  std::string waiting_;  // lines, or the rest of one, that are not in the file yet
};

// The whole number "iteration" of a line that is a JSON object, or -1; so for one that was cut off.
Index iteration_of_line(const std::string& line);

}  // namespace headlight
