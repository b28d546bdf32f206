#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace headlight {

// Bytes that come one after another, once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills some of `bytes`, at least one; returns how many, 0 at the end. Throws Error naming what
  // is read.
  virtual std::size_t read(std::span<char> bytes) = 0;
};

// Reads until all of `bytes` are filled or the source ends; returns how many are.
std::size_t read_fully(ByteSource& source, std::span<char> bytes);

// A file until its end, wherever that is by then: the file may be growing, and files that the
// system makes up have size 0. Throws Error when it is missing, cannot be opened, or is a folder, a
// pipe (which is not waited for) or a device.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);

std::unique_ptr<ByteSource> standard_input();

// Bytes that are held in memory.
std::unique_ptr<ByteSource> held_bytes(std::shared_ptr<const std::string> bytes);

// `head`, then what is left of `rest`.
std::unique_ptr<ByteSource> joined_bytes(std::string head, std::unique_ptr<ByteSource> rest);

}  // namespace headlight
