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

// The function that this library stands in front of.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Stands between a program and the system: counts the calls below the root, lets the planned one
// fail, and writes the others down. One call at a time, so that the order in the record is real.
class Injector {
 public:
  static Injector& instance();

  // A call about names. `call` does it; -1 means failure, as everywhere.
  int on_names(Operation operation, const std::string& path, const std::string& other,
               const std::function<int()>& call);
  // open and its kin: `call` returns a descriptor.
  int on_open(const std::string& path, int flags, const std::function<int()>& call);
  // Reads and writes: `call` moves the first `count` bytes.
  ssize_t on_read(int descriptor, std::size_t count,
                  const std::function<ssize_t(std::size_t)>& call);
  ssize_t on_write(int descriptor, std::string_view bytes, off_t offset,
                   const std::function<ssize_t(std::string_view)>& call);
  // sync, truncate, lock. `size`: the new size for truncate.
  int on_file(Operation operation, int descriptor, off_t size, const std::function<int()>& call);
  int on_close(int descriptor, const std::function<int()>& call);

  static constexpr int kStream = 1 << 30;  // among the flags of on_open: fopen
  static constexpr off_t kHere = -1;       // offset of a write at the descriptor's position

 private:
  Injector();
  // What happens to this call; tells the fired file and, for kill, does not return.
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

// `path`, made absolute with the folder that `folder` (a descriptor or AT_FDCWD) stands for.
std::string absolute_path(int folder, const char* path);

}  // namespace headlight::fault
