#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/io/shards.h"

namespace headlight {

// A text that is encoded, as it was when the encoding began.
struct ShardSource {
  std::string path = {};
  Index bytes = 0;
  Index modified = 0;  // nanoseconds since 1970

  bool operator==(const ShardSource&) const = default;
};

// A place in the sources: so many ids of a part (see TextPart) are in shards already.
struct SourcePlace {
  Index source = 0;
  Index part = 0;
  Index ids = 0;
};

// shards.json: what a folder of shards was made of and how far it is. It is replaced whole after
// every shard, so that it never tells of a shard that is not complete.
struct ShardManifest {
  Json settings = {};  // an object of all that decides which bytes are written
  std::vector<ShardSource> sources = {};
  std::vector<Shard> shards = {};        // that are complete
  std::optional<SourcePlace> next = {};  // where the next shard begins; none: all is done
};

// Throws Error as write_file() does.
void write_shard_manifest(const std::filesystem::path& folder, const ShardManifest& manifest);

// Nothing where the folder has none. Throws Error "PATH: ..." for what write_shard_manifest() would
// not write.
std::optional<ShardManifest> read_shard_manifest(const std::filesystem::path& folder);

// Where a token file lies in a folder with a manifest: throws Error naming the file when the
// encoding is not done, when it had another vocabulary than that of `tokenizer`, and when the
// manifest knows nothing of the file or says that it has another number of tokens.
void require_listed(const std::filesystem::path& token_file, Index tokens,
                    const Tokenizer& tokenizer);

}  // namespace headlight
