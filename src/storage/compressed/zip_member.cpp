#include "storage/compressed/zip_member.h"

#include <utility>

#include "headlight/base/error.h"

namespace headlight {

ZipMemberReader::ZipMemberReader(const ZipArchive& archive, zip_uint64_t index, std::string where)
    : where_(std::move(where)), file_(::zip_fopen_index(archive.get(), index, 0)) {
  archive.check(file_ != nullptr);
}

void ZipMemberReader::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const zip_int64_t count = ::zip_fread(file_, bytes.data(), bytes.size());
    require(count > 0, where_, ": ", count < 0 ? reason() : "is cut off");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void ZipMemberReader::expect_end() {
  std::byte beyond{};
  const zip_int64_t count = ::zip_fread(file_, &beyond, 1);
  require(count == 0, where_, ": ", count < 0 ? reason() : "is longer than its header states");
}

std::size_t stored_bytes(const ZipArchive& archive, zip_uint64_t index, std::string_view writer,
                         std::uint64_t& left, const std::string& where) {
  zip_stat_t status;
  ::zip_stat_init(&status);
  archive.check(::zip_stat_index(archive.get(), index, 0, &status) == 0);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  require((status.valid & kNeeded) == kNeeded, where, ": its entry in the archive is incomplete");
  require(status.comp_method == ZIP_CM_STORE && status.encryption_method == ZIP_EM_NONE, where,
          ": compressed or encrypted members are not supported; write it with ", writer);
  require(status.size == status.comp_size && status.size <= left, where, ": expected ", status.size,
          " bytes, more than the file has");
  left -= status.size;
  return status.size;
}

}  // namespace headlight
