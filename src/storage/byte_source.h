#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "headlight/base/index.h"

namespace headlight {

// A stream of bytes that can be read once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills the beginning of `bytes` and returns the number of bytes read: at least 1, or 0 at the
  // end. Throws Error naming the source.
  virtual std::size_t read(std::span<char> bytes) = 0;
};

// Reads until `bytes` is full or the source ends. Returns the number of bytes read.
std::size_t read_fully(ByteSource& source, std::span<char> bytes);

// Opens a file for reading until its current end: the file may grow, and system files like those in
// /proc have size 0. Throws Error if it is missing, cannot be opened, or is a folder, a pipe
// (without blocking) or a device.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);

std::unique_ptr<ByteSource> standard_input();

// Returns a source of bytes in memory.
std::unique_ptr<ByteSource> held_bytes(std::shared_ptr<const std::string> bytes);

// Returns a source that reports the bytes of `source`, each read at the beginning of the next one.
std::unique_ptr<ByteSource> reported_bytes(std::unique_ptr<ByteSource> source,
                                           std::function<void(Index bytes)> report);

// Returns a source of `head`, followed by the rest of `rest`.
std::unique_ptr<ByteSource> joined_bytes(std::string head, std::unique_ptr<ByteSource> rest);

}  // namespace headlight
