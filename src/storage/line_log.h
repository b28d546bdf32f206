#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "headlight/base/index.h"
#include "storage/appended_file.h"

namespace headlight {

// A file of lines that grows while a program runs. A line that cannot be written is kept and
// written before the next one.
class LineLog {
 public:
  using Keep = std::function<bool(const std::string&)>;
  using OnFailure = AppendedFile::OnFailure;

  // Creates the file, or drops the lines that `keep` rejects from an existing one. append() passes
  // its errors to `on_failure`, which may throw. Throws Error if the file cannot be read, written
  // or opened.
  LineLog(std::filesystem::path path, const Keep& keep, OnFailure on_failure);

  // Drops the lines that `keep` rejects. Throws Error as the constructor does.
  void cut(const Keep& keep);
  // Appends a line, given without its line end.
  void append(const std::string& line) { file_.append(line + "\n"); }
  // Waits until the file's lines are on the disk, or throws Error. Another thread may append
  // meanwhile.
  void flush() const { file_.flush(); }

 private:
  std::filesystem::path path_;
  AppendedFile file_;
};

// Returns the integer "iteration" of a JSON object; -1 for other and truncated lines.
Index iteration_of_line(const std::string& line);

}  // namespace headlight
