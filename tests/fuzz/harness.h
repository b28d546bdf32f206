#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "headlight/base/error.h"

// Helpers of the fuzz targets. A finding is an exception other than headlight::Error. libFuzzer
// counts it as a crash, Catch2 as a failure.
namespace headlight::fuzz {

// Throws std::logic_error with `finding` unless `condition` holds.
void demand(bool condition, const std::string& finding);

// Throws std::logic_error unless `message` is one line, free of control characters and short enough
// to read.
void demand_good_message(std::string_view message);

// Returns true if `body` accepts its input, false if it throws an Error with a good message.
template <class Body>
bool accepted(const Body& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    demand_good_message(error.what());
    return false;
  }
}

// File in memory that has a path.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view bytes) const;

 private:
  int descriptor_;
  std::filesystem::path path_;
};

// Temporary folder, in memory if possible. Disappears at the end of the process.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

// Removes and returns the first byte of the input, or 0. It selects the use of the other bytes.
unsigned take_byte(std::string_view& input);

// Removes the input up to its first zero byte. Returns the text before that byte.
std::string_view take_text(std::string_view& input);

}  // namespace headlight::fuzz
