#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "storage/posix_file.h"

namespace headlight {

// A file that grows while a program runs. Bytes that cannot be written are kept and written before
// the next ones.
class AppendedFile {
 public:
  using OnFailure = std::function<void(const Error&)>;

  // Call restart() before append(), which passes its errors to `on_failure`; that may throw.
  AppendedFile(std::filesystem::path path, OnFailure on_failure);

  // Replaces the content by that of `body` and drops bytes that wait. Throws Error if the file
  // cannot be written or opened.
  void restart(const std::function<void(FileWriter&)>& body);
  void append(std::string_view bytes);
  // Waits until the file's bytes are on the disk, or throws Error. Another thread may append
  // meanwhile.
  void flush() const;

 private:
  void write_waiting();

  std::filesystem::path path_;
  OnFailure on_failure_;
  FileDescriptor file_;
  std::string waiting_;  // bytes not yet in the file
};

}  // namespace headlight
