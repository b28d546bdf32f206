#include "headlight/storage/manifest.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/strings/hex_text.h"
#include "base/strings/printable.h"
#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "storage/input_file.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "MANIFEST.json";
constexpr int kManifestVersion = 1;
constexpr Index kMaxManifestBytes = Index{16} << 20;
constexpr Index kPieceBytes = Index{1} << 20;

// Returns the XXH3-64 of the content as 16 lowercase hexadecimal digits.
std::string checksum(const InputFile& file) {
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  require(state != nullptr && XXH3_64bits_reset(state.get()) == XXH_OK,
          "[checksum] cannot allocate memory");
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(file.size(), kPieceBytes)));
  for (Index offset = 0; offset < file.size(); offset += kPieceBytes) {
    const auto count = static_cast<std::size_t>(std::min(file.size() - offset, kPieceBytes));
    file.read(offset, std::span(piece).first(count));
    XXH3_64bits_update(state.get(), piece.data(), count);
  }
  XXH64_canonical_t canonical;
  XXH64_canonicalFromHash(&canonical, XXH3_64bits_digest(state.get()));
  return hex_text(canonical.digest);
}

struct Content {
  std::vector<fs::path> files;
  std::vector<fs::path> folders;  // including the directory itself
};

Content list_content(const fs::path& directory) {
  Content content;
  content.folders.push_back(directory);
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const fs::file_type type = entry->symlink_status(error).type();
    if (!error) {
      require(type == fs::file_type::regular || type == fs::file_type::directory,
              shown(entry->path()), ": neither a regular file nor a folder");
      (type == fs::file_type::regular ? content.files : content.folders).push_back(entry->path());
      entry.increment(error);
    }
  }
  if (error) {
    fail_system("list", directory, error.value());
  }
  return content;
}

void check_relative(const std::string& name, const std::string& manifest) {
  const fs::path path(name);
  require(!name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
              path == path.lexically_normal() && *path.begin() != "..",
          manifest, ": unusable file name ", in_quotes(name));
}

void verify_file(const fs::path& path, const Json& entry, const std::string& manifest) {
  require(entry.is_object() && entry.size() == 2 && entry.contains("size") &&
              entry["size"].is_natural() && entry.contains("xxh3_64") &&
              entry["xxh3_64"].is_string(),
          manifest, ": the entry of ", shown(path), " must have a size and an xxh3_64 alone");
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(path, ignored).type();
  require(type != fs::file_type::not_found, shown(path), ": missing, but listed in ", manifest);
  require(type == fs::file_type::regular, shown(path), ": not a regular file");
  const InputFile file(path);
  const auto size = entry["size"].natural();
  require(static_cast<std::uint64_t>(file.size()) == size, shown(path), ": ", file.size(),
          " bytes, but ", manifest, " lists ", size);
  const std::string actual = checksum(file);
  const auto& expected = entry["xxh3_64"].text();
  require(actual == expected, shown(path), ": its checksum is ", actual, ", but ", manifest,
          " lists ", in_quotes(expected));
}

}  // namespace

void write_manifest(const fs::path& directory) {
  Content content = list_content(directory);
  const auto by_name = [](const fs::path& a, const fs::path& b) {
    return a.generic_string() < b.generic_string();
  };
  std::sort(content.files.begin(), content.files.end(), by_name);
  Json files = Json::object();
  for (const fs::path& path : content.files) {
    sync_file(path);
    const InputFile file(path);
    files.add(path.lexically_relative(directory).generic_string(),
              {{"size", file.size()}, {"xxh3_64", checksum(file)}});
  }
  const Json manifest{{"files", std::move(files)}, {"version", kManifestVersion}};
  std::string text;
  try {
    text = manifest.dump(2, Json::BadUtf8::refused) + "\n";
  } catch (const Error&) {
    fail(shown(directory), ": contains a file name that is not UTF-8");
  }
  FileWriter writer(directory / kManifestName);
  writer.write(text);
  writer.close();
  for (const fs::path& folder : content.folders) {
    sync_folder(folder);
  }
}

void flush_content(const fs::path& directory) {
  const Content content = list_content(directory);
  std::ranges::for_each(content.files, sync_file);
  std::ranges::for_each(content.folders, sync_folder);
}

bool has_manifest(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(directory / kManifestName, ignored);
}

void verify_manifest(const fs::path& directory, std::span<const std::string_view> required) {
  const fs::path path = directory / kManifestName;
  const std::string name = shown(path);
  const Json manifest = parse_json(read_whole_file(path, kMaxManifestBytes), name);
  require(manifest.is_object() && manifest.contains("version"), name, ": has no version");
  require(manifest["version"] == kManifestVersion, name, ": version ", manifest["version"].dump(),
          ", expected ", kManifestVersion);
  require(manifest.size() == 2 && manifest.contains("files") && manifest["files"].is_object(), name,
          ": expected exactly version and files");
  for (const std::string_view file : required) {
    require(manifest["files"].contains(file), name, ": files: expected an entry for ", file,
            ", got none; use a complete copy of ", shown(directory));
  }
  for (const auto& [file, entry] : manifest["files"].members()) {
    check_relative(file, name);
    verify_file(directory / file, entry, name);
  }
}

}  // namespace headlight
