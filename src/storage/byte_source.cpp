#include "storage/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// Checks the file type before opening, because opening a pipe or a device could block forever.
void require_regular_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require(fs::exists(status), shown(path), ": ",
          error ? error.message() : "No such file or directory");
  require(!fs::is_directory(status), shown(path), ": is a directory, expected a text file");
  require(fs::is_regular_file(status), shown(path), ": is not a regular file");
}

class DescriptorSource final : public ByteSource {
 public:
  // `owner` closes the descriptor at the end.
  DescriptorSource(int descriptor, std::string name, FileDescriptor owner = FileDescriptor())
      : descriptor_(descriptor), name_(std::move(name)), owner_(std::move(owner)) {}

  std::size_t read(std::span<char> bytes) override {
    const ssize_t count = retried([&] { return ::read(descriptor_, bytes.data(), bytes.size()); });
    require(count >= 0, name_, ": reading failed at byte ", offset_);
    offset_ += static_cast<std::size_t>(count);
    return static_cast<std::size_t>(count);
  }

 private:
  int descriptor_;
  std::string name_;
  FileDescriptor owner_;
  std::size_t offset_ = 0;
};

class JoinedSource final : public ByteSource {
 public:
  JoinedSource(std::shared_ptr<const std::string> head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  std::size_t read(std::span<char> bytes) override {
    const std::size_t count = std::min(bytes.size(), head_->size() - used_);
    if (count == 0) {
      return rest_ == nullptr ? 0 : rest_->read(bytes);
    }
    std::copy_n(head_->data() + used_, count, bytes.data());
    used_ += count;
    return count;
  }

 private:
  std::shared_ptr<const std::string> head_;
  std::size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

class ReportedSource final : public ByteSource {
 public:
  ReportedSource(std::unique_ptr<ByteSource> source, std::function<void(Index bytes)> report)
      : source_(std::move(source)), report_(std::move(report)) {}
  ~ReportedSource() override { report_(last_); }  // decompressors need not read to the end

  std::size_t read(std::span<char> bytes) override {
    report_(std::exchange(last_, 0));
    const std::size_t count = source_->read(bytes);
    last_ = static_cast<Index>(count);
    return count;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::function<void(Index bytes)> report_;
  Index last_ = 0;  // bytes of the last read
};

}  // namespace

std::size_t read_fully(ByteSource& source, std::span<char> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const std::size_t count = source.read(bytes.subspan(filled));
    if (count == 0) {
      break;
    }
    filled += count;
  }
  return filled;
}

std::unique_ptr<ByteSource> open_bytes(const fs::path& path) {
  require_regular_file(path);
  // O_NONBLOCK: the file may have become a pipe since the check.
  FileDescriptor file(open_descriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const int descriptor = file.number();
  require(descriptor >= 0, shown(path), ": cannot be opened for reading");
  return std::make_unique<DescriptorSource>(descriptor, shown(path), std::move(file));
}

std::unique_ptr<ByteSource> standard_input() {
  return std::make_unique<DescriptorSource>(STDIN_FILENO, "standard input");
}

std::unique_ptr<ByteSource> held_bytes(std::shared_ptr<const std::string> bytes) {
  return std::make_unique<JoinedSource>(std::move(bytes), nullptr);
}

std::unique_ptr<ByteSource> reported_bytes(std::unique_ptr<ByteSource> source,
                                           std::function<void(Index bytes)> report) {
  return std::make_unique<ReportedSource>(std::move(source), std::move(report));
}

std::unique_ptr<ByteSource> joined_bytes(std::string head, std::unique_ptr<ByteSource> rest) {
  return std::make_unique<JoinedSource>(std::make_shared<const std::string>(std::move(head)),
                                        std::move(rest));
}

}  // namespace headlight
