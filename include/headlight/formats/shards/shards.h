#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/datasets/text_source.h"
#include "headlight/datasets/token_file.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Encoding of texts of any size into token files of limited size, on all threads.

struct ShardOptions {
  Index shard_tokens = 100'000'000;  // maximum of one shard, at least 2
  // Format of the texts; token_dtype is the width of ids in the shards (automatic: by vocabulary).
  TextFormat format = {};
  bool special = true;  // encodes names of special tokens in a text as these tokens
  // Called for every complete shard, in order.
  std::function<void(const Shard& shard)> on_shard = {};
};

struct ShardResult {
  std::vector<Shard> shards = {};  // all shards in the folder
  Index tokens = 0;                // of all shards
  Index documents = 0;
  Index found = 0;  // shards that existed before the call
  // Warnings about texts that look like another format.
  std::vector<std::string> warnings = {};
};

// Encodes the texts into a folder: shard_000000.bin and so on (readable by nanoGPT), .idx files
// beside them (Megatron-LM's index of documents), tokenizer.json and shards.json. shards.json
// describes the tokenizer, the texts and the progress. Every document ends with <|endoftext|>; a
// stream is one document. A shard takes documents until the next one would exceed shard_tokens. A
// document that is longer than a shard is cut: it fills shards of its own, and the rest shares one.
//
// After a stop or kill, a call with the same texts continues. It reads the current file again up to
// that position. The final bytes depend neither on that nor on the number of threads. The folder is
// locked during the call.
//
// Throws Error naming the file or setting if a text cannot be read or changes meanwhile, if the
// folder holds other files or shards of other texts, another tokenizer or other settings, and if it
// would have to continue from standard input. Throws LockedError if another process writes there.
ShardResult encode_shards(const std::filesystem::path& folder, const std::vector<TextFile>& files,
                          const Tokenizer& tokenizer, const ShardOptions& options);

}  // namespace headlight
