#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "headlight/files/file_writer.h"
#include "io/shards/shard_manifest.h"

namespace headlight {

// Ids of one part of a text.
struct EncodedPart {
  std::vector<std::int32_t> ids;
  SourcePlace place;    // of the first id that is in no shard yet
  bool begins = false;  // a document; else they go on with the last one
};

// Fills token files with documents, one file after another; see encode_shards() for what goes
// where.
class ShardWriter {
 public:
  struct Options {
    Index shard_tokens = 0;
    TokenDtype dtype = TokenDtype::uint16;
    std::int32_t end_of_text = 0;
    Index first = 0;  // number of the first shard
  };
  // Called when a shard is complete on the disk, with the place where the next one begins; none
  // for the last.
  using OnShard = std::function<void(const Shard& shard, const std::optional<SourcePlace>& next)>;

  ShardWriter(std::filesystem::path folder, const Options& options, OnShard on_shard);

  void add(EncodedPart part);
  // Ends the last document and the last shard.
  void finish();

 private:
  Index room() const { return options_.shard_tokens - shard_.tokens; }
  void end_document();
  void write_document(Index count);
  void take_ids(Index count, std::vector<std::int32_t>& ids);
  void write_ids(const std::vector<std::int32_t>& ids);
  void close_shard();

  std::filesystem::path folder_;
  Options options_;
  OnShard on_shard_;
  std::deque<EncodedPart> document_;  // parts of the present document, not yet in any shard
  Index waiting_ = 0;                 // their ids
  Index number_;
  Shard shard_;  // that is being written
  std::filesystem::path temporary_;
  std::optional<FileWriter> file_;
  std::vector<std::int32_t> lengths_;  // of its documents
};

// True for the names of files that a ShardWriter makes.
bool is_shard_name(std::string_view name);

}  // namespace headlight
