#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "files/byte_source.h"

namespace headlight {

enum class Compression { none, gzip, zstandard };

// What data is that begins so; kMagicBytes of it are enough.
inline constexpr std::size_t kMagicBytes = 4;
Compression compression_of_bytes(std::string_view beginning);

// By the ending of a file's name, in any case: .gz or .zst.
Compression compression_of_name(std::string_view name);
// The name without that ending.
std::string_view without_compression(std::string_view name);

// What `source` holds compressed, decompressed as it is read in bounded memory, however much it
// becomes. Several members or frames one after another are one text, as for gzip and zstd. Reading
// throws Error "NAME: ..." for data that is damaged, ends too early, goes on as something else, or
// asks for a window above 128 MiB.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         Compression compression, std::string name);

}  // namespace headlight
