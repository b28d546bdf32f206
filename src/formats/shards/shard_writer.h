#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "datasets/shards/shard_manifest.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/unfinished.h"

namespace headlight {

// The ids of one part of a text.
struct EncodedPart {
  std::vector<std::int32_t> ids;
  SourcePosition position;  // position of the first id that is not in a shard yet
  bool begins = false;      // true: begins a document; false: continues the last one
};

// Writes documents to token files, one after another; encode_shards() describes the distribution.
class ShardWriter {
 public:
  struct Options {
    Index shard_tokens = 0;
    TokenDtype dtype = TokenDtype::uint16;
    std::int32_t end_of_text = 0;
    Index first = 0;  // number of the first shard
  };
  // Called when a shard is on the disk. `next` is the start of the next one; nothing for the last.
  using OnShard =
      std::function<void(const Shard& shard, const std::optional<SourcePosition>& next)>;

  ShardWriter(std::filesystem::path folder, const Options& options, OnShard on_shard);

  void add(EncodedPart part);
  // Ends the last document and the last shard.
  void finish();

 private:
  Index room() const { return options_.shard_tokens - shard_.tokens; }
  void end_document();
  void write_document(Index count);
  void take_ids(Index count, std::vector<std::int32_t>& ids);
  void close_shard();

  std::filesystem::path folder_;
  Options options_;
  OnShard on_shard_;
  std::deque<EncodedPart> document_;  // parts of the current document, not yet in any shard
  Index waiting_ = 0;                 // number of their ids
  Index number_;
  Shard shard_;  // the shard being written
  std::optional<Unfinished> temporary_;
  std::optional<FileWriter> file_;
  std::vector<std::int32_t> lengths_;  // lengths of its documents
};

// True for names of files that a ShardWriter writes.
bool is_shard_name(std::string_view name);

}  // namespace headlight
