#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/compressed/zip_archive.h"

namespace headlight {

// Reader of one member of an archive, from its first byte to its last.
class ZipMemberReader {
 public:
  // `archive` must outlive the reader; `where` begins error messages. Throws Error if the member
  // cannot be opened.
  ZipMemberReader(const ZipArchive& archive, zip_uint64_t index, std::string where);
  ~ZipMemberReader() { ::zip_fclose(file_); }
  ZipMemberReader(const ZipMemberReader&) = delete;
  ZipMemberReader& operator=(const ZipMemberReader&) = delete;

  // Fills `bytes` with the next bytes. Throws Error if the member ends before that.
  void read(std::span<std::byte> bytes);
  // Reads past the last byte, because the library compares the checksum only at the end. Throws
  // Error for a wrong checksum and for unread bytes.
  void expect_end();

 private:
  std::string reason() const { return ::zip_error_strerror(::zip_file_get_error(file_)); }

  std::string where_;
  zip_file_t* file_;
};

// Returns the size of a member in bytes, and subtracts it from `left`, the unused size of the file.
// Throws Error, "WHERE: ...", if the size exceeds `left`, and for a compressed member; the message
// suggests `writer`.
std::size_t stored_bytes(const ZipArchive& archive, zip_uint64_t index, std::string_view writer,
                         std::uint64_t& left, const std::string& where);

}  // namespace headlight
