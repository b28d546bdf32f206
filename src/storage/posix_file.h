#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace headlight {

// Throws Error "cannot ACTION PATH: TEXT", with the text of the system's error number `code`.
[[noreturn]] void fail_system(std::string_view action, const std::filesystem::path& path, int code);

// Calls open(2). Retries if a signal interrupts it, as can happen on slow or network disks. Raises
// the limit of open files if it is reached. Returns -1 on failure.
int open_descriptor(const std::filesystem::path& path, int flags, unsigned permissions = 0);

// Calls a system function until no signal interrupts it; returns its result.
template <class Call>
auto retried(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

// Calls transfer(bytes done) until all bytes are moved, retrying if a signal interrupts it.
// transfer() returns the result of read(2) or write(2). Throws Error if it fails or moves no bytes.
template <class Transfer>
void transfer_all(std::size_t bytes, std::string_view action, const std::filesystem::path& path,
                  const Transfer& transfer) {
  for (std::size_t done = 0; done < bytes;) {
    const ::ssize_t moved = retried([&] { return transfer(done); });
    if (moved <= 0) {
      fail_system(action, path, moved < 0 ? errno : EIO);
    }
    done += static_cast<std::size_t>(moved);
  }
}

// Calls fsync(2), retrying if a signal interrupts it.
int sync_descriptor(int descriptor);

// Closes the descriptor of an open file when it goes out of scope. Negative: none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Opens a file as open_descriptor() does. Throws Error "cannot ACTION PATH: ..." on failure.
FileDescriptor open_file(std::string_view action, const std::filesystem::path& path, int flags,
                         unsigned permissions = 0);

// Returns the folder that holds `path`: "." for a bare name.
std::filesystem::path parent_folder(const std::filesystem::path& path);

inline constexpr std::string_view kTemporaryMark = ".tmp.";

// Returns PATH.tmp.<process id>.
std::filesystem::path temporary_path(const std::filesystem::path& path);

// Returns the process id at the end of NAME.tmp.<process id>; 0 for any other name.
int writer_of_temporary(std::string_view name);

// Returns temporary_path(path). Removes the files and folders that killed processes have left there
// and under the same name with their own ids.
std::filesystem::path fresh_temporary_path(const std::filesystem::path& path);

// Creates a folder with the permissions that the user's umask leaves. Throws Error if that fails.
void create_folder(const std::filesystem::path& path);

// True if a process with this id exists.
bool is_alive(int process);

// Waits until the content of a file, or the names in a folder, are on the disk.
void sync_file(const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& path);

// Throws Error if `path` is a pipe, a device or a folder, which a file must not replace.
void require_replaceable(const std::filesystem::path& path);

// Renames a flushed temporary file to `path`, replacing an existing file, and flushes the folder.
// Removes the temporary file on failure.
void move_into_place(const std::filesystem::path& temporary, const std::filesystem::path& path);

}  // namespace headlight
