#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/datasets/token_file.h"

namespace headlight {

// A text to encode, with its state at the start of encoding.
struct ShardSource {
  std::string path = {};
  Index bytes = 0;
  Index modified = 0;  // nanoseconds since 1970

  bool operator==(const ShardSource&) const = default;
};

// A position in the sources: shards hold the first `ids` ids of part `part` (see TextPart).
struct SourcePosition {
  Index source = 0;
  Index part = 0;
  Index ids = 0;
};

// shards.json: the origin and the progress of a folder of shards. It is replaced whole after every
// shard, so it never lists an incomplete shard.
struct ShardManifest {
  Json settings = {};  // object of all settings that affect the written bytes
  std::vector<ShardSource> sources = {};
  std::vector<Shard> shards = {};           // complete shards
  std::optional<SourcePosition> next = {};  // start of the next shard; nothing: done
};

// Writes shards.json. Throws Error as write_file() does.
void write_shard_manifest(const std::filesystem::path& folder, const ShardManifest& manifest);

// Reads shards.json; nothing if the folder has none. Throws Error "PATH: ..." for damaged content.
std::optional<ShardManifest> read_shard_manifest(const std::filesystem::path& folder);

// Checks a token file against the manifest of its folder, if there is one. Throws Error naming the
// file if the encoding is not done or used another vocabulary than `tokenizer`, or if the manifest
// does not list the file with this number of tokens.
void verify_against_manifest(const std::filesystem::path& token_file, Index tokens,
                             const Tokenizer& tokenizer);

}  // namespace headlight
