#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace headlight {

// MANIFEST.json lists every file of a directory and its folders with size and XXH3-64 checksum
// (https://github.com/Cyan4973/xxHash), which finds damage but does not resist forgery.

// Writes the manifest of what the directory holds now; every file and folder is flushed to the disk
// first. Throws Error for content that is neither a regular file nor a folder, and when the
// directory has a manifest.
void write_manifest(const std::filesystem::path& directory);

// True when the directory holds a MANIFEST.json; one made by other tools has none.
bool has_manifest(const std::filesystem::path& directory);

// Throws Error naming the first listed file that is missing, is not a regular file or has another
// size or checksum, or saying why the manifest cannot be used: one that leaves out a `required`
// file cannot. Other files that are not listed are ignored.
void verify_manifest(const std::filesystem::path& directory,
                     std::span<const std::string_view> required = {});

}  // namespace headlight
