#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "headlight/base/error.h"

// What the fuzz targets share. A finding is an exception that is not headlight::Error: libFuzzer
// takes it for a crash, Catch2 for a failure.
namespace headlight::fuzz {

// Throws std::logic_error with `finding` unless `condition` holds.
void demand(bool condition, const std::string& finding);

// Throws std::logic_error unless `message` is one line without control characters that a person
// would still read.
void demand_good_message(std::string_view message);

// True when `body` accepts its input, false when it refuses it with an Error, which must be good.
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

// A file that lies in memory and has a path.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Replaces the content.
  void write(std::string_view bytes) const;

 private:
  int descriptor_;
  std::filesystem::path path_;
};

// A folder, in memory where the system has one, that is gone when the process ends.
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

// Takes the first byte off the input, 0 when there is none: it selects what to do with the rest.
unsigned take_byte(std::string_view& input);

// Takes what stands before the first zero byte, and that byte, off the input.
std::string_view take_text(std::string_view& input);

}  // namespace headlight::fuzz
