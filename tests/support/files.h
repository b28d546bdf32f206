#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/lists.h"

namespace headlight::test {

// A new, empty folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "headlight-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make " + name);
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::string at(const std::string& name) const { return (path_ / name).string(); }
  // Writes a file inside; returns its path.
  std::string write(const std::string& name, const std::string& contents) const;

  // Returns the sorted names of its entries.
  std::vector<std::string> names() const {
    auto result =
        mapped<std::string>(std::filesystem::directory_iterator(path_),
                            [&](const auto& entry) { return entry.path().filename().string(); });
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  std::filesystem::path path_;
};

// Returns the bytes of a file; "" if there is none.
inline std::string file_contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!(file << bytes).flush()) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

inline std::string TemporaryFolder::write(const std::string& name,
                                          const std::string& contents) const {
  write_bytes(path_ / name, contents);
  return at(name);
}

}  // namespace headlight::test
