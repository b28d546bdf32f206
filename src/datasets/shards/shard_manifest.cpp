#include "datasets/shards/shard_manifest.h"

#include <algorithm>
#include <system_error>

#include "base/strings/printable.h"
#include "datasets/fingerprint.h"
#include "headlight/base/error.h"
#include "headlight/storage/file_writer.h"
#include "storage/input_file.h"
#include "storage/posix_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kManifestVersion = 1;
constexpr Index kLargestManifest = Index{1} << 28;  // bytes

Index count_in(const Json& object, const char* key, const std::string& where) {
  const Json& value = json_member(object, key, where);
  require(value.is_integer() && value.integer() >= 0, where, ": ", key,
          ": expected a whole number of at least 0");
  return value.integer();
}

const Json& list_in(const Json& object, const char* key, const std::string& where) {
  const Json& value = json_member(object, key, where);
  require(value.is_array(), where, ": ", key, ": expected a list");
  return value;
}

ShardManifest parse_manifest(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  require(count_in(json, "version", where) == kManifestVersion, where, ": version: expected ",
          kManifestVersion);
  ShardManifest manifest{.settings = json_member(json, "settings", where)};
  require(manifest.settings.is_object(), where, ": settings: expected an object");
  for (const Json& source : list_in(json, "sources", where)) {
    manifest.sources.push_back({.path = json_string(source, "path", where),
                                .bytes = count_in(source, "bytes", where),
                                .modified = count_in(source, "modified", where)});
  }
  for (const Json& shard : list_in(json, "shards", where)) {
    manifest.shards.push_back({.name = json_string(shard, "name", where),
                               .tokens = count_in(shard, "tokens", where),
                               .documents = count_in(shard, "documents", where)});
  }
  const Json& next = json_member(json, "next", where);
  if (!next.is_null()) {
    manifest.next = {.source = count_in(next, "source", where),
                     .part = count_in(next, "part", where),
                     .ids = count_in(next, "ids", where)};
    require(manifest.next->source < std::ssize(manifest.sources), where,
            ": next: there is no source ", manifest.next->source);
  }
  return manifest;
}

}  // namespace

void write_shard_manifest(const fs::path& folder, const ShardManifest& manifest) {
  auto sources = Json::array();
  for (const ShardSource& source : manifest.sources) {
    sources.push_back(
        {{"path", source.path}, {"bytes", source.bytes}, {"modified", source.modified}});
  }
  auto shards = Json::array();
  for (const Shard& shard : manifest.shards) {
    shards.push_back(
        {{"name", shard.name}, {"tokens", shard.tokens}, {"documents", shard.documents}});
  }
  Json json{{"version", kManifestVersion}, {"settings", manifest.settings}, {"next", nullptr}};
  if (manifest.next) {
    json["next"] = {{"source", manifest.next->source},
                    {"part", manifest.next->part},
                    {"ids", manifest.next->ids}};
  }
  json.add("sources", std::move(sources));
  json.add("shards", std::move(shards));
  write_file(folder / kShardManifest, json.dump(1) + "\n");
}

std::optional<ShardManifest> read_shard_manifest(const fs::path& folder) {
  const fs::path path = folder / kShardManifest;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return std::nullopt;
  }
  return parse_manifest(read_whole_file(path, kLargestManifest), shown(path));
}

void verify_against_manifest(const fs::path& token_file, Index tokens, const Tokenizer& tokenizer) {
  const fs::path folder = parent_folder(token_file);
  const std::optional<ShardManifest> manifest = read_shard_manifest(folder);
  if (!manifest) {
    return;
  }
  const std::string where = shown(folder / kShardManifest);
  const std::string name = token_file.filename().string();
  const auto shard = std::find_if(manifest->shards.begin(), manifest->shards.end(),
                                  [&](const Shard& one) { return one.name == name; });
  require(!manifest->next, where,
          ": the encoding is not finished; run tokenizer encode with the same options to continue");
  require(shard != manifest->shards.end(), shown(token_file), ": is not listed in ", where);
  require(shard->tokens == tokens, shown(token_file), ": has ", tokens, " tokens, but ", where,
          " lists ", shard->tokens);
  const std::string expected = json_string(manifest->settings, "vocabulary", where);
  require(expected == fingerprint_of_vocabulary(tokenizer), shown(token_file),
          ": its ids were made with another tokenizer, according to ", where);
}

}  // namespace headlight
