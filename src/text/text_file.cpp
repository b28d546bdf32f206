#include "headlight/text/text_file.h"

#include <algorithm>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "headlight/tensor/error.h"
#include "headlight/tensor/machine.h"
#include "headlight/text/utf8.h"

namespace headlight {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kChunk = std::size_t{1} << 20;

// Opening a pipe or a device could wait for ever, so the kind of file is looked at first.
void require_regular_file(const std::filesystem::path& path, const std::string& name) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  require(std::filesystem::exists(status), name, ": ",
          error ? error.message() : "No such file or directory");
  require(!std::filesystem::is_directory(status), name, ": is a directory, expected a text file");
  require(std::filesystem::is_regular_file(status), name, ": is not a regular file");
}

// A sparse file may say any size, and the system hands out memory that it does not have.
void require_memory(double bytes, const std::string& name) {
  constexpr double kAlwaysThere = 1 << 20;  // asking the system takes longer than to read so much
  if (bytes <= kAlwaysThere) {
    return;
  }
  const std::string missing = missing_memory(bytes);
  require(missing.empty(), name, ": does not fit in memory: it has ", missing);
}

// Reads until the end rather than as much as the size says: the file may be growing, and files that
// the system makes up have size 0.
std::string read_bytes(const std::filesystem::path& path, const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  require(in.is_open(), name, ": cannot be opened for reading");
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  require_memory(error ? 0.0 : static_cast<double>(size), name);
  std::string bytes;
  bytes.reserve(error ? kChunk : static_cast<std::size_t>(size) + 1);
  std::size_t used = 0;
  while (in) {
    // Up to the reserved size no byte moves.
    bytes.resize(std::max(used + 1, std::min(used + kChunk, bytes.capacity())));
    in.read(bytes.data() + used, static_cast<std::streamsize>(bytes.size() - used));
    used += static_cast<std::size_t>(in.gcount());
  }
  require(!in.bad(), name, ": reading failed at byte ", used);
  bytes.resize(used);
  return bytes;
}

void unify_line_ends(std::string& text) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      text[kept++] = text[i];
    }
  }
  text.resize(kept);
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  require_regular_file(path, name);
  std::string text;
  try {
    text = read_bytes(path, name);
  } catch (const std::bad_alloc&) {
    fail(name, ": does not fit in memory");
  } catch (const std::length_error&) {
    fail(name, ": does not fit in memory");
  }
  require_utf8(text, name);
  if (text.starts_with(kByteOrderMark)) {
    text.erase(0, kByteOrderMark.size());
  }
  require(!text.empty(), name, ": is empty");
  unify_line_ends(text);
  return text;
}

}  // namespace headlight
