#pragma once

#include <zip.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headlight {

// An open zip archive; `shown_as` is its name in errors.
class ZipArchive {
 public:
  // `flags` are those of zip_open. Throws Error when it cannot be opened or created.
  ZipArchive(const std::filesystem::path& path, int flags, std::string shown_as);
  ~ZipArchive();  // forgets what was added and not written by close()
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  zip_t* get() const { return archive_; }
  const std::string& shown_as() const { return shown_as_; }

  // Throws Error with the archive's own reason unless `good`.
  void check(bool good) const;
  // Adds a member of two parts, uncompressed and with a fixed date: the same content gives the same
  // bytes. The bytes must live until the archive is closed.
  void add(const std::string& name, std::span<const std::byte> head,
           std::span<const std::byte> body = {});
  // Adds a member like the other add(), of so many bytes, which close() asks for in order.
  void add(const std::string& name, std::size_t size,
           std::function<void(std::span<std::byte>)> read);
  // Writes what was added. Throws what a member's `read` throws.
  void close();

 private:
  struct Member;

  void add(const std::string& name, zip_source_t* source);

  std::string shown_as_;
  zip_t* archive_ = nullptr;
  std::vector<std::unique_ptr<Member>> members_;  // that are read by close()
};

// Makes a zip archive: `fill` adds members, of which there must be one at least, and closes it
// while their bytes live. Replaces the file in one step. Throws Error when a write fails; `path` is
// then as it was.
void replace_zip(const std::filesystem::path& path, const std::function<void(ZipArchive&)>& fill);

}  // namespace headlight
