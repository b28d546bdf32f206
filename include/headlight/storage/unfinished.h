#pragma once

#include <filesystem>
#include <mutex>

namespace headlight {

// A file or folder that is removed unless it is kept: by the destructor, or by remove_unfinished()
// if the program is interrupted. A path that does not exist (any more) is allowed.
class Unfinished {
 public:
  explicit Unfinished(std::filesystem::path path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Keeps the path, or (false) removes it in the end after all.
  void keep(bool is_kept = true) { is_kept_ = is_kept; }

 private:
  void remove() const;
  friend void remove_unfinished();

  std::filesystem::path path_;
  bool is_kept_ = false;
};

// Removes all unfinished files and folders of this process, which must end then: threads that
// begin or end with one wait forever.
void remove_unfinished();

// Makes remove_unfinished() wait while the result exists: for steps that belong together. Meanwhile
// this thread must neither begin nor end with an unfinished file.
std::unique_lock<std::mutex> hold_interruptions();

}  // namespace headlight
