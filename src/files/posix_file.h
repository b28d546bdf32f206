#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace headlight {

// Throws Error "cannot ACTION PATH: TEXT" with the text of the system's error number `code`.
[[noreturn]] void fail_system(std::string_view action, const std::filesystem::path& path, int code);

// open(2), again while a signal interrupts it, as one can on a slow or distant disk, and with a
// higher limit of open files where the system allows one. -1: failed.
int open_descriptor(const std::filesystem::path& path, int flags, unsigned permissions = 0);

// Calls transfer(bytes done) until it has moved as many bytes, again while a signal interrupts it;
// it gives what read(2) and write(2) give. Throws Error when it fails or there are no more.
template <class Transfer>
void transfer_all(std::size_t bytes, std::string_view action, const std::filesystem::path& path,
                  const Transfer& transfer) {
  for (std::size_t done = 0; done < bytes;) {
    const ::ssize_t moved = transfer(done);
    if (moved < 0 && errno == EINTR) {
      continue;
    }
    if (moved <= 0) {
      fail_system(action, path, moved < 0 ? errno : EIO);
    }
    done += static_cast<std::size_t>(moved);
  }
}

// fsync(2), again while a signal interrupts it.
int sync_descriptor(int descriptor);

// Closes the descriptor of an open file when it goes out of scope.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

// The folder that holds `path`: "." for a bare name.
std::filesystem::path parent_folder(const std::filesystem::path& path);

// PATH.tmp.<process id>
std::filesystem::path temporary_path(const std::filesystem::path& path);

// True while a process has that id.
bool is_alive(int process);

// Waits until the content of a file, or the names in a folder, are on the disk.
void sync_file(const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& path);

// Throws Error for a pipe, a device or a folder, which a file must not replace.
void require_replaceable(const std::filesystem::path& path);

// Renames a flushed temporary file to `path`, replacing what is there, and flushes the folder. The
// temporary file is removed when that fails.
void move_into_place(const std::filesystem::path& temporary, const std::filesystem::path& path);

}  // namespace headlight
