#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "headlight/base/index.h"
#include "storage/compressed/zip_archive.h"

namespace headlight {

// A file of torch.save: a zip archive with the members NAME/data.pkl and NAME/data/KEY, one for
// each storage (https://docs.pytorch.org/docs/stable/notes/serialization.html).
class TorchFile {
 public:
  // Throws Error, one line with the path, unless it is such a file with little-endian storages.
  explicit TorchFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // Returns data.pkl. Throws Error above 16 MiB.
  std::string read_pickle() const;
  // Returns the size of a storage in bytes; nothing if it is missing.
  std::optional<Index> storage_bytes(const std::string& key) const;
  // Fills `bytes` from byte `offset` of a storage that has these bytes. Verifies the checksum of
  // the whole storage. Throws Error for damaged files.
  void read_storage(const std::string& key, Index offset, std::span<std::byte> bytes) const;

 private:
  struct Member {
    zip_uint64_t index = 0;
    std::size_t bytes = 0;
  };

  const Member* find(const std::string& name) const;
  std::string read_text(const std::string& name, std::size_t most_bytes) const;
  std::string where(const std::string& name) const;

  std::filesystem::path path_;
  ZipArchive archive_;
  std::string folder_;                     // "ckpt/"
  std::map<std::string, Member> members_;  // by name in the archive
};

}  // namespace headlight
