#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace headlight {

// MANIFEST.json lists every file in a directory and its subfolders with size and XXH3-64 checksum
// (https://github.com/Cyan4973/xxHash). The checksum finds damage but does not resist forgery.

// Writes the manifest of the directory's content and flushes every file and folder to the disk.
// Throws Error for content that is neither a regular file nor a folder, and if the directory has a
// manifest.
void write_manifest(const std::filesystem::path& directory);

// Flushes every file and folder to the disk, as write_manifest() does, without a manifest.
void flush_content(const std::filesystem::path& directory);

// True if the directory holds a MANIFEST.json. Directories of other tools have none.
bool has_manifest(const std::filesystem::path& directory);

// Throws Error naming the first listed file that is missing, is not a regular file, or has another
// size or checksum. Throws Error if the manifest is unusable or does not list a `required` file.
// Ignores unlisted files.
void verify_manifest(const std::filesystem::path& directory,
                     std::span<const std::string_view> required = {});

}  // namespace headlight
