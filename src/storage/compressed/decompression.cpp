#include "storage/compressed/decompression.h"

#include <zlib.h>
#include <zstd.h>

#include <new>
#include <utility>
#include <vector>

#include "base/strings/lower_case.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::string_view kGzipEnding = ".gz";
constexpr std::string_view kZstandardEnding = ".zst";

constexpr std::size_t kInputBytes = std::size_t{64} << 10;

// Reader of the compressed bytes, one buffer at a time.
class Input {
 public:
  Input(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), buffer_(kInputBytes) {}

  // Returns the unused bytes of the buffer, refilling it if empty; none at the end of the data.
  std::span<char> waiting() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = source_->read(buffer_);
    }
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  void use(std::size_t count) { begin_ += count; }
  const std::string& name() const { return name_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> source, std::string name)
      : input_(std::move(source), std::move(name)) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> bytes) override {
    std::size_t produced = 0;
    while (produced == 0) {
      const std::span<char> waiting = input_.waiting();
      if (waiting.empty()) {
        require(between_members_, input_.name(), ": ends in the middle of its gzip data");
        break;
      }
      if (std::exchange(between_members_, false)) {
        inflateReset(&stream_);
      }
      produced = inflate_some(waiting, bytes);
    }
    return produced;
  }

 private:
  std::size_t inflate_some(std::span<char> from, std::span<char> into) {
    stream_.next_in = reinterpret_cast<Bytef*>(from.data());
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    }
    require(result == Z_OK || result == Z_STREAM_END, input_.name(), ": damaged gzip data",
            stream_.msg == nullptr ? "" : ": ", stream_.msg == nullptr ? "" : stream_.msg);
    between_members_ = result == Z_STREAM_END;
    input_.use(from.size() - stream_.avail_in);
    return into.size() - stream_.avail_out;
  }

  Input input_;
  z_stream stream_{};
  bool between_members_ = true;
};

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstandardSource final : public ByteSource {
 public:
  ZstandardSource(std::unique_ptr<ByteSource> source, std::string name)
      : input_(std::move(source), std::move(name)), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
  }

  std::size_t read(std::span<char> bytes) override {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    while (out.pos == 0) {
      const std::span<char> waiting = input_.waiting();
      ZSTD_inBuffer in{waiting.data(), waiting.size(), 0};
      // At the end of the input, the decoder may still hold decoded bytes.
      if (waiting.empty() && between_frames_) {
        break;
      }
      const std::size_t hint = ZSTD_decompressStream(context_.get(), &out, &in);
      require(ZSTD_isError(hint) == 0, input_.name(),
              ": damaged zstd data: ", ZSTD_getErrorName(hint));
      require(!waiting.empty() || out.pos > 0, input_.name(),
              ": ends in the middle of its zstd data");
      between_frames_ = hint == 0;
      input_.use(in.pos);
    }
    return out.pos;
  }

 private:
  Input input_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  bool between_frames_ = true;
};

}  // namespace

Compression compression_of_bytes(std::string_view beginning) {
  return beginning.starts_with("\x1F\x8B")           ? Compression::gzip
         : beginning.starts_with("\x28\xB5\x2F\xFD") ? Compression::zstandard
                                                     : Compression::none;
}

Compression compression_of_name(std::string_view name) {
  const std::string lower = lower_case(name);
  return lower.ends_with(kGzipEnding)        ? Compression::gzip
         : lower.ends_with(kZstandardEnding) ? Compression::zstandard
                                             : Compression::none;
}

std::string_view without_compression(std::string_view name) {
  const Compression compression = compression_of_name(name);
  name.remove_suffix(compression == Compression::gzip        ? kGzipEnding.size()
                     : compression == Compression::zstandard ? kZstandardEnding.size()
                                                             : 0);
  return name;
}

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         Compression compression, std::string name) {
  switch (compression) {
    case Compression::gzip:
      return std::make_unique<GzipSource>(std::move(source), std::move(name));
    case Compression::zstandard:
      return std::make_unique<ZstandardSource>(std::move(source), std::move(name));
    case Compression::none:
      break;
  }
  return source;
}

}  // namespace headlight
