#include "files/line_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/json.h"
#include "files/file_lines.h"
#include "files/posix_file.h"
#include "headlight/files/file_writer.h"

namespace headlight {
namespace {

// Copies the lines that `keep` accepts. Text after the last line end counts as a line.
void copy_lines(const InputFile& file, const LineLog::Keep& keep, FileWriter& writer) {
  constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;  // bytes per write
  std::string kept;
  for_each_line(file, [&](const std::string& line) {
    kept += keep(line) ? line + "\n" : "";
    if (kept.size() >= kWrittenAtOnce) {
      writer.write(kept);
      kept.clear();
    }
  });
  writer.write(kept);
}

}  // namespace

LineLog::LineLog(std::filesystem::path path, const Keep& keep, OnFailure on_failure)
    : path_(std::move(path)), on_failure_(std::move(on_failure)) {
  cut(keep);
}

void LineLog::cut(const Keep& keep) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path_, error);
  if (error) {  // an unreadable file must not be replaced by an empty one
    fail_system("read", path_, error.value());
  }
  replace_file(path_, [&](FileWriter& writer) {
    if (exists) {
      copy_lines(InputFile(path_), keep, writer);
    }
  });
  file_ = open_file("open", path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  waiting_.clear();
}

void LineLog::append(const std::string& line) {
  waiting_ += line + "\n";
  try {
    write_waiting();
  } catch (const Error& error) {
    on_failure_(error);
  }
}

void LineLog::write_waiting() {
  while (!waiting_.empty()) {
    const ssize_t written =
        retried([&] { return ::write(file_.number(), waiting_.data(), waiting_.size()); });
    if (written <= 0) {
      fail_system("write", path_, written < 0 ? errno : EIO);
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
}

void LineLog::flush() const {
  if (sync_descriptor(file_.number()) != 0) {
    fail_system("flush", path_, errno);
  }
}

Index iteration_of_line(const std::string& line) {
  const std::optional<Json> json = try_parse_json(line);
  const Json* found = json ? json->find("iteration") : nullptr;
  return found != nullptr && found->is_integer() ? found->integer() : -1;
}

}  // namespace headlight
