#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "fault/injector/plan.h"

namespace headlight::fault {

// Returns the C library's function that this library replaces.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Layer between a program and the system. Counts the calls below the root, injects the planned
// fault and records the other calls. Handles one call at a time, so the record has the true order.
class Injector {
 public:
  static Injector& instance();

  // Handles a call on names. `call` executes it and returns -1 on failure.
  int on_names(Operation operation, const std::string& path, const std::string& other,
               const std::function<int()>& call);
  // Handles open and similar calls. `call` returns a descriptor.
  int on_open(const std::string& path, int flags, const std::function<int()>& call);
  // Handle reads and writes. `call` transfers the first `count` bytes.
  ssize_t on_read(int descriptor, std::size_t count,
                  const std::function<ssize_t(std::size_t)>& call);
  ssize_t on_write(int descriptor, std::string_view bytes, off_t offset,
                   const std::function<ssize_t(std::string_view)>& call);
  // Handles sync, truncate and lock. `size`: the new size for truncate.
  int on_file(Operation operation, int descriptor, off_t size, const std::function<int()>& call);
  int on_close(int descriptor, const std::function<int()>& call);

  static constexpr int kStream = 1 << 30;  // flag of on_open(): fopen
  static constexpr off_t kHere = -1;       // offset: write at the descriptor's position

 private:
  Injector();
  // Chooses the fault of this call and logs it in FAULT_FIRED. For kill, does not return.
  Fault next_fault(Operation operation, const std::string& path);
  void write_down(const CallRecord& record);
  bool is_watched(const std::string& path) const;
  int file_of(int descriptor) const;  // 0: not watched

  Plan plan_;
  std::recursive_mutex mutex_;
  long calls_ = 0;
  std::int32_t files_ = 0;
  int log_ = -1;
  std::array<std::atomic<std::int32_t>, 4096> file_of_descriptor_{};
};

// Makes `path` absolute, relative to `folder`: a descriptor or AT_FDCWD.
std::string absolute_path(int folder, const char* path);

}  // namespace headlight::fault
