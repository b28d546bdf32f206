#include "storage/compressed/zip_archive.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/storage/unfinished.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

std::string zip_error_text(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// Returns the bytes as libzip's pair of pointer and length. libzip only reads the bytes, despite
// the non-const pointer.
zip_buffer_fragment_t fragment_of(std::span<const std::byte> bytes) {
  zip_buffer_fragment_t fragment{};
  fragment.data = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(bytes.data()));
  fragment.length = bytes.size();
  return fragment;
}

}  // namespace

struct ZipArchive::Member {
  std::size_t size = 0;
  std::function<void(std::span<std::byte>)> read;
  std::size_t left = 0;
  std::exception_ptr failure;
  zip_error_t error{};

  zip_int64_t give(std::span<std::byte> bytes) {
    bytes = bytes.first(std::min(bytes.size(), left));
    try {
      read(bytes);
    } catch (...) {
      failure = std::current_exception();
      ::zip_error_set(&error, ZIP_ER_READ, 0);
      return -1;
    }
    left -= bytes.size();
    return static_cast<zip_int64_t>(bytes.size());
  }

  zip_int64_t tell(zip_stat_t& status) const {
    ::zip_stat_init(&status);
    status.size = size;
    status.comp_size = size;
    status.comp_method = ZIP_CM_STORE;
    status.encryption_method = ZIP_EM_NONE;
    status.valid =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    return sizeof(zip_stat_t);
  }

  static zip_int64_t answer(void* member, void* data, zip_uint64_t length,
                            zip_source_cmd_t command) {
    Member& self = *static_cast<Member*>(member);
    switch (command) {
      case ZIP_SOURCE_OPEN:
        self.left = self.size;
        return 0;
      case ZIP_SOURCE_READ:
        return self.give({static_cast<std::byte*>(data), static_cast<std::size_t>(length)});
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_STAT:
        return self.tell(*static_cast<zip_stat_t*>(data));
      case ZIP_SOURCE_ERROR:
        return ::zip_error_to_data(&self.error, data, length);
      case ZIP_SOURCE_SUPPORTS:
        return ::zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                                ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                                -1);
      default:
        ::zip_error_set(&self.error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }
};

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
  add(name, source);
}

void ZipArchive::add(const std::string& name, std::size_t size,
                     std::function<void(std::span<std::byte>)> read) {
  auto member = std::make_unique<Member>();
  member->size = size;
  member->read = std::move(read);
  ::zip_error_init(&member->error);
  members_.push_back(std::move(member));
  add(name, ::zip_source_function(archive_, Member::answer, members_.back().get()));
}

void ZipArchive::add(const std::string& name, zip_source_t* source) {
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

void ZipArchive::close(const std::function<void(double)>& progress) {
  constexpr double kSmallestStep = 0.001;  // of the share
  const auto show = [](zip_t*, double share, void* function) {
    (*static_cast<const std::function<void(double)>*>(function))(share);
  };
  check(::zip_register_progress_callback_with_state(
            archive_, kSmallestStep, show, nullptr,
            const_cast<std::function<void(double)>*>(&progress)) == 0);
  const bool is_written = ::zip_close(archive_) == 0;
  for (const std::unique_ptr<Member>& member : members_) {
    if (member->failure) {
      std::rethrow_exception(member->failure);
    }
  }
  check(is_written);
  archive_ = nullptr;
}

void replace_zip(const std::filesystem::path& path, const std::function<void(ZipArchive&)>& fill) {
  require_replaceable(path);
  // libzip writes into a file beside the archive, whose name it chooses.
  const Unfinished folder(fresh_temporary_path(path));
  create_folder(folder.path());
  const std::filesystem::path temporary = folder.path() / path.filename();
  ZipArchive archive(temporary, ZIP_CREATE | ZIP_EXCL, shown(path));
  fill(archive);
  sync_file(temporary);
  move_into_place(temporary, path);
}

}  // namespace headlight
