#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/io/text_source.h"
#include "headlight/io/token_file.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Texts of any size become token files of a certain size, on all threads.

// A token file, with an index of its documents beside it.
struct Shard {
  std::string name = {};  // "shard_000000.bin"
  Index tokens = 0;
  Index documents = 0;
};

struct ShardOptions {
  Index shard_tokens = 100'000'000;  // most of one file, at least 2
  TextFormat format = {};  // of the texts; format.token_dtype is that of the shards, or automatic:
                           // what the vocabulary needs
  bool special = true;     // names of special tokens in a text become these
  // Called for every shard that is complete, in order.
  std::function<void(const Shard& shard)> on_shard = {};
};

struct ShardResult {
  std::vector<Shard> shards = {};  // all of the folder
  Index tokens = 0;                // of all shards
  Index documents = 0;
  Index found = 0;  // shards that were there already
  // Warnings about texts that look like another format.
  std::vector<std::string> warnings = {};
};

// Encodes the texts into a folder: shard_000000.bin, ... (as nanoGPT reads them) with .idx beside
// (Megatron-LM's index of documents), tokenizer.json and shards.json, which tells of the tokenizer,
// the texts and the progress. <|endoftext|> follows every document; a file that is one stream is
// one. A shard takes documents until the next would make it longer than shard_tokens; one that is
// longer by itself is cut into several, each of a shard of its own but for the rest.
//
// A folder in which an encoding of the same texts was stopped or killed goes on where it stopped,
// by reading the present file again up to there. The bytes in the end do not depend on that, nor on
// the number of threads. While it is working the folder is locked.
//
// Throws Error naming the file or setting when a text cannot be read or changes while it is read,
// when the folder holds something else or shards of other texts, another tokenizer or other
// settings, and when a text that an encoding is to go on with came through standard input; throws
// LockedError when another process writes there.
ShardResult encode_shards(const std::filesystem::path& folder, const std::vector<TextFile>& files,
                          const Tokenizer& tokenizer, const ShardOptions& options);

}  // namespace headlight
