#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace headlight {

// A new file that is either written completely or removed. Errors name the path and the system's
// message; for a full disk, also the free bytes.
class FileWriter {
 public:
  // Creates the file. Throws Error if it exists or cannot be created.
  explicit FileWriter(std::filesystem::path path);
  // Removes the file unless close() has succeeded.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Appends all bytes. Throws Error if the system takes fewer.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Waits until the bytes are on the disk, then closes the file. Throws Error if that fails; the
  // content is then unreliable. No write may follow.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Lets `body` write a temporary file beside `path`, then renames it to `path`. A reader finds the
// old content or the new one, never a part. A replaced file loses its permissions; a symlink is
// replaced, not followed. Two threads must not write the same path at once.
// Throws Error if `path` is a folder, pipe or device, or if a step fails; `path` is then unchanged.
void replace_file(const std::filesystem::path& path, const std::function<void(FileWriter&)>& body);

// Calls replace_file with this content.
void write_file(const std::filesystem::path& path, std::string_view contents);

// Creates the folder and its missing parents.
// Throws Error "PATH: cannot be made a directory: ...".
void make_folder(const std::filesystem::path& path);

}  // namespace headlight
