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
  // `flags` are the flags of zip_open. Throws Error if the archive cannot be opened or created.
  ZipArchive(const std::filesystem::path& path, int flags, std::string shown_as);
  ~ZipArchive();  // drops members that close() has not written
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  zip_t* get() const { return archive_; }

  // Throws Error with the archive's own reason unless `good`.
  void check(bool good) const;
  // Adds a member of two parts, uncompressed and with a fixed date: the same content gives the same
  // bytes. The bytes must live until close().
  void add(const std::string& name, std::span<const std::byte> head,
           std::span<const std::byte> body = {});
  // Adds an uncompressed member of `size` bytes with a fixed date. close() reads them in order.
  void add(const std::string& name, std::size_t size,
           std::function<void(std::span<std::byte>)> read);
  // Writes the added members. Calls `progress` with the written share. Passes on exceptions from a
  // member's `read`.
  void close(const std::function<void(double share)>& progress = [](double) {});

 private:
  struct Member;

  void add(const std::string& name, zip_source_t* source);

  std::string shown_as_;
  zip_t* archive_ = nullptr;
  std::vector<std::unique_ptr<Member>> members_;  // members that close() reads
};

// Makes a zip archive, replacing the file in one step. `fill` adds at least one member and closes
// the archive while the members' bytes live. Throws Error if a write fails; `path` is then
// unchanged.
void replace_zip(const std::filesystem::path& path, const std::function<void(ZipArchive&)>& fill);

}  // namespace headlight
