#include "fault/injector/injector.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace headlight::fault {
namespace {

// Opens a file by a system call: the C library's functions lead back into this library.
int system_open(const char* path) {
  constexpr mode_t kPermissions = 0644;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path,
                                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kPermissions));
}

void system_write(int descriptor, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const long count = ::syscall(SYS_write, descriptor, bytes.data() + done, bytes.size() - done);
    if (count <= 0) {
      ::_exit(99);  // an incomplete record would prove nothing
    }
    done += static_cast<std::size_t>(count);
  }
}

off_t position_of_write(int descriptor, off_t offset) {
  if (offset != Injector::kHere) {
    return offset;
  }
  struct stat status {};
  const bool appends = (::fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
  return appends && ::fstat(descriptor, &status) == 0 ? status.st_size
                                                      : ::lseek(descriptor, 0, SEEK_CUR);
}

int failed(int error) {
  errno = error;
  return -1;
}

}  // namespace

Injector& Injector::instance() {
  static auto* injector = new Injector;  // never destroyed: programs close files until exit
  return *injector;
}

Injector::Injector() : plan_(plan_from_environment()) {
  if (!plan_.log.empty()) {
    log_ = system_open(plan_.log.c_str());
  }
}

bool Injector::is_watched(const std::string& path) const {
  return !plan_.root.empty() && path.rfind(plan_.root + "/", 0) == 0;
}

int Injector::file_of(int descriptor) const {
  const auto index = static_cast<std::size_t>(descriptor);
  return descriptor >= 0 && index < file_of_descriptor_.size() ? file_of_descriptor_[index].load()
                                                               : 0;
}

Fault Injector::next_fault(Operation operation, const std::string& path) {
  if (!plan_.strikes(operation)) {
    return Fault::none;
  }
  ++calls_;
  if (plan_.repeats ? calls_ < plan_.at : calls_ != plan_.at) {
    return Fault::none;
  }
  if (!plan_.fired.empty() && calls_ == plan_.at) {
    const int fired = system_open(plan_.fired.c_str());
    system_write(fired, std::string(operation_name(operation)) + " " + path + "\n");
    ::syscall(SYS_close, fired);
  }
  if (plan_.kind == Fault::kill) {
    ::kill(::getpid(), SIGKILL);
    ::pause();
  }
  return plan_.kind;
}

void Injector::write_down(const CallRecord& record) {
  const int error = errno;
  if (log_ >= 0) {
    system_write(log_, to_bytes(record));
  }
  errno = error;
}

int Injector::on_names(Operation operation, const std::string& path, const std::string& other,
                       const std::function<int()>& call) {
  if (!is_watched(path)) {
    return call();
  }
  const std::lock_guard<std::recursive_mutex> guard(mutex_);
  if (next_fault(operation, path) != Fault::none) {
    return failed(plan_.error);
  }
  const int result = call();
  if (result == 0) {
    write_down({.operation = operation, .path = path, .other = other});
  }
  return result;
}

int Injector::on_open(const std::string& path, int flags, const std::function<int()>& call) {
  const bool watched = is_watched(path) || path == plan_.root;
  const std::lock_guard<std::recursive_mutex> guard(mutex_);
  struct stat status {};
  const bool exists = watched && ::lstat(path.c_str(), &status) == 0;
  const bool creates = (flags & O_CREAT) != 0 && !exists;
  const Operation operation = creates ? Operation::create : Operation::open;
  // Opening a folder or a stream never waits for a device, so signals do not interrupt it.
  const bool waits = (flags & (O_DIRECTORY | kStream)) == 0;
  if (watched && (waits || plan_.error != EINTR) && next_fault(operation, path) != Fault::none) {
    return failed(plan_.error);
  }
  const int descriptor = call();
  const auto index = static_cast<std::size_t>(descriptor);
  if (descriptor < 0 || index >= file_of_descriptor_.size()) {
    return descriptor;
  }
  file_of_descriptor_[index] = watched ? ++files_ : 0;
  if (watched) {
    write_down({.operation = operation, .file = files_, .path = path});
    if (exists && (flags & O_TRUNC) != 0) {
      write_down({.operation = Operation::truncate, .file = files_, .path = path});
    }
  }
  return descriptor;
}

ssize_t Injector::on_read(int descriptor, std::size_t count,
                          const std::function<ssize_t(std::size_t)>& call) {
  if (file_of(descriptor) == 0) {
    return call(count);
  }
  const std::lock_guard<std::recursive_mutex> guard(mutex_);
  const Fault fault = next_fault(Operation::read, "");
  if (fault == Fault::fail) {
    return failed(plan_.error);
  }
  return call(fault == Fault::shorten && count > 1 ? count / 2 : count);
}

ssize_t Injector::on_write(int descriptor, std::string_view bytes, off_t offset,
                           const std::function<ssize_t(std::string_view)>& call) {
  const int file = file_of(descriptor);
  if (file == 0) {
    return call(bytes);
  }
  const std::lock_guard<std::recursive_mutex> guard(mutex_);
  const Fault fault = next_fault(Operation::write, std::to_string(bytes.size()) + " bytes");
  if (fault == Fault::fail) {
    return failed(plan_.error);
  }
  const off_t position = position_of_write(descriptor, offset);
  const bool halves = fault != Fault::none && bytes.size() > 1;
  const ssize_t written = call(halves ? bytes.substr(0, bytes.size() / 2) : bytes);
  if (fault == Fault::tear) {
    ::kill(::getpid(), SIGKILL);
  }
  if (written > 0) {
    write_down({.operation = Operation::write,
                .file = file,
                .offset = position,
                .data = std::string(bytes.substr(0, static_cast<std::size_t>(written)))});
  }
  return written;
}

int Injector::on_file(Operation operation, int descriptor, off_t size,
                      const std::function<int()>& call) {
  const int file = file_of(descriptor);
  if (file == 0) {
    return call();
  }
  const std::lock_guard<std::recursive_mutex> guard(mutex_);
  if (next_fault(operation, "") != Fault::none) {
    return failed(plan_.error);
  }
  const int result = call();
  if (result == 0) {
    write_down({.operation = operation, .file = file, .offset = size});
  }
  return result;
}

// close() releases the descriptor, even if it returns an error.
int Injector::on_close(int descriptor, const std::function<int()>& call) {
  if (file_of(descriptor) == 0) {
    return call();
  }
  const std::lock_guard<std::recursive_mutex> guard(mutex_);
  const Fault fault = next_fault(Operation::close, "");
  file_of_descriptor_[static_cast<std::size_t>(descriptor)] = 0;
  const int result = call();
  return fault == Fault::fail ? failed(plan_.error) : result;
}

std::string absolute_path(int folder, const char* path) {
  if (path == nullptr || path[0] == '/') {
    return path == nullptr ? "" : path;
  }
  const std::string link =
      folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
  std::array<char, 4096> buffer{};
  const long size = ::syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), buffer.data(), buffer.size());
  return size <= 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(size)) + "/" + path;
}

}  // namespace headlight::fault
