#include "support/bytes/compressed.h"

#include <zlib.h>
#include <zstd.h>

#include <stdexcept>

namespace headlight::test {

std::string gzip(const std::string& text) {
  constexpr int kGzip = 16;
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  std::string input = text;
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
               Z_DEFAULT_STRATEGY);
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int result = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) {
    throw std::runtime_error("gzip failed");
  }
  return bytes;
}

std::string zstandard(const std::string& text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3);
  if (ZSTD_isError(size) != 0) {
    throw std::runtime_error("zstd failed");
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace headlight::test
