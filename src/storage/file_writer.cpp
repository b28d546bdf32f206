#include "headlight/storage/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/storage/unfinished.h"
#include "storage/posix_file.h"

namespace headlight {

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  constexpr mode_t kReadableAndWritable = 0666;  // minus the user's umask
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  descriptor_ = open_file("create", path_, kFlags, kReadableAndWritable).release();
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
}

void FileWriter::write(std::span<const std::byte> bytes) {
  require(descriptor_ >= 0, "[FileWriter::write] ", shown(path_), " is already closed");
  transfer_all(bytes.size(), "write", path_, [&](std::size_t done) {
    return ::write(descriptor_, bytes.data() + done, bytes.size() - done);
  });
}

void FileWriter::write(std::string_view text) {
  write(std::as_bytes(std::span<const char>(text.data(), text.size())));
}

void FileWriter::close() {
  require(descriptor_ >= 0, "[FileWriter::close] ", shown(path_), " is already closed");
  // Does not try again: a failed flush may have dropped bytes, and a second flush then succeeds.
  if (sync_descriptor(descriptor_) != 0) {
    fail_system("flush", path_, errno);
  }
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) {
    const int code = errno;
    ::unlink(path_.c_str());
    fail_system("close", path_, code);
  }
}

void replace_file(const std::filesystem::path& path, const std::function<void(FileWriter&)>& body) {
  require_replaceable(path);
  const Unfinished temporary(fresh_temporary_path(path));
  FileWriter writer(temporary.path());
  body(writer);
  writer.close();
  move_into_place(temporary.path(), path);
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  replace_file(path, [&](FileWriter& writer) { writer.write(contents); });
}

void make_folder(const std::filesystem::path& path) {
  require(!path.empty(), "expected the name of a folder, got none");
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error && std::filesystem::is_directory(path, error), shown(path),
          ": cannot create this directory", error ? ": " + error.message() : "");
}

}  // namespace headlight
