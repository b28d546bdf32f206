#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace headlight {

// A new file that is either written whole or not left behind. Errors name the path and what the
// system said; a full disk also names the bytes that are free.
class FileWriter {
 public:
  // Creates the file. Throws Error when it exists or cannot be created.
  explicit FileWriter(std::filesystem::path path);
  // Removes the file unless close() has succeeded.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Appends all bytes. Throws Error when the system takes fewer.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Waits until the bytes are on the disk, then closes. Throws Error, and the file is not to be
  // trusted, when that fails. Nothing may be written afterwards.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Lets `body` write a temporary file beside `path` and then renames it to `path`, so that a reader
// finds the old content or the new, never a part. A file that is replaced loses its permissions; a
// symlink is replaced, not followed. Two threads must not write the same path at once.
// Throws Error when `path` is a folder, pipe or device, and when a step fails; it is then as it
// was.
void replace_file(const std::filesystem::path& path, const std::function<void(FileWriter&)>& body);

// replace_file with this content.
void write_file(const std::filesystem::path& path, std::string_view contents);

// Makes the folder and what is missing above it, unless it is there.
// Throws Error "PATH: cannot be made a directory: ...".
void make_folder(const std::filesystem::path& path);

}  // namespace headlight
