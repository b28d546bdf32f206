#include "storage/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headlight {

AppendedFile::AppendedFile(std::filesystem::path path, OnFailure on_failure)
    : path_(std::move(path)), on_failure_(std::move(on_failure)) {}

void AppendedFile::restart(const std::function<void(FileWriter&)>& body) {
  replace_file(path_, body);
  file_ = open_file("open", path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  waiting_.clear();
}

void AppendedFile::append(std::string_view bytes) {
  waiting_ += bytes;
  try {
    write_waiting();
  } catch (const Error& error) {
    on_failure_(error);
  }
}

void AppendedFile::write_waiting() {
  while (!waiting_.empty()) {
    const ssize_t written =
        retried([&] { return ::write(file_.number(), waiting_.data(), waiting_.size()); });
    if (written <= 0) {
      fail_system("write", path_, written < 0 ? errno : EIO);
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
}

void AppendedFile::flush() const {
  if (sync_descriptor(file_.number()) != 0) {
    fail_system("flush", path_, errno);
  }
}

}  // namespace headlight
