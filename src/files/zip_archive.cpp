#include "files/zip_archive.h"

#include <unistd.h>

#include <array>

#include "base/printable.h"
#include "files/posix_file.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

std::string zip_error_text(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// The library's fragments point to mutable bytes, but it only reads them.
zip_buffer_fragment_t fragment_of(std::span<const std::byte> bytes) {
  zip_buffer_fragment_t fragment{};
  fragment.data = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(bytes.data()));
  fragment.length = bytes.size();
  return fragment;
}

// Removes a file unless it has been moved away.
struct TemporaryFile {
  std::filesystem::path path;
  ~TemporaryFile() { ::unlink(path.c_str()); }
};

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path, int flags, std::string shown_as)
    : shown_as_(std::move(shown_as)) {
  int code = 0;
  archive_ = ::zip_open(path.c_str(), flags, &code);
  require(archive_ != nullptr, shown_as_, ": ", zip_error_text(code));
}

ZipArchive::~ZipArchive() {
  if (archive_ != nullptr) {
    ::zip_discard(archive_);
  }
}

void ZipArchive::check(bool good) const {
  require(good, shown_as_, ": ", ::zip_strerror(archive_));
}

void ZipArchive::add(const std::string& name, std::span<const std::byte> head,
                     std::span<const std::byte> body) {
  const std::array<zip_buffer_fragment_t, 2> fragments{fragment_of(head), fragment_of(body)};
  zip_source_t* source =
      ::zip_source_buffer_fragment(archive_, fragments.data(), fragments.size(), 0);
  check(source != nullptr);
  const zip_int64_t added = ::zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (added < 0) {
    ::zip_source_free(source);
    fail(shown_as_, ": member ", in_quotes(name), ": ", ::zip_strerror(archive_));
  }
  const auto index = static_cast<zip_uint64_t>(added);
  constexpr zip_uint16_t kMidnight = 0;
  constexpr zip_uint16_t kFirstOfJanuary1980 = (1U << 5) | 1U;
  check(::zip_set_file_compression(archive_, index, ZIP_CM_STORE, 0) == 0);
  check(::zip_file_set_dostime(archive_, index, kMidnight, kFirstOfJanuary1980, 0) == 0);
}

void ZipArchive::close() {
  check(::zip_close(archive_) == 0);
  archive_ = nullptr;
}

void replace_zip(const std::filesystem::path& path, const std::function<void(ZipArchive&)>& fill) {
  require_replaceable(path);
  const TemporaryFile temporary{temporary_path(path)};
  ::unlink(temporary.path.c_str());  // left by a killed process that had the same number
  ZipArchive archive(temporary.path, ZIP_CREATE | ZIP_EXCL, shown(path));
  fill(archive);
  sync_file(temporary.path);
  move_into_place(temporary.path, path);
}

}  // namespace headlight
