#include "headlight/io/token_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <span>

#include "headlight/tensor/error.h"
#include "headlight/tensor/machine.h"
#include "text/printable.h"

namespace headlight {

static_assert(std::endian::native == std::endian::little, "token files are little endian");

namespace {

namespace fs = std::filesystem;

// Tokens of the file. Its kind is looked at before it is opened: a pipe could wait for ever.
std::size_t count_tokens(const fs::path& path, const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require(fs::exists(status), name, ": ", error ? error.message() : "No such file or directory");
  require(fs::is_regular_file(status), name, ": is not a regular file");
  const std::uintmax_t bytes = fs::file_size(path, error);
  require(!error, name, ": ", error.message());
  require(bytes > 0, name, ": is empty");
  require(bytes % sizeof(std::uint16_t) == 0, name, ": ", bytes,
          " bytes are no whole number of 16-bit token ids");
  return bytes / sizeof(std::uint16_t);
}

// A sparse file may say any size, and the system hands out memory that it does not have.
std::vector<std::int32_t> make_room(std::size_t count, const std::string& name) {
  const std::string missing = missing_memory(static_cast<double>(count) * sizeof(std::int32_t));
  require(missing.empty(), name, ": does not fit in memory: its ", count, " tokens take ", missing);
  std::vector<std::int32_t> ids;
  ids.reserve(count);
  return ids;
}

}  // namespace

bool is_token_file(const fs::path& path) { return path.extension() == ".bin"; }

std::vector<std::int32_t> read_token_file(const fs::path& path, Index vocab_size) {
  const std::string name = shown(path);
  const std::size_t count = count_tokens(path, name);
  std::vector<std::int32_t> ids = make_room(count, name);
  std::ifstream in(path, std::ios::binary);
  std::array<std::uint16_t, 65536> piece;
  while (ids.size() < count) {
    const std::span<std::uint16_t> part =
        std::span(piece).first(std::min(piece.size(), count - ids.size()));
    in.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(part.size_bytes()));
    require(in.good(), name, ": reading failed after token ", ids.size());
    for (const std::uint16_t id : part) {
      require(id < vocab_size, name, ": token ", ids.size(), " is ", id,
              ", but the tokenizer has the ids 0 to ", vocab_size - 1);
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace headlight
