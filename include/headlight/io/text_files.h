#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// Stands for standard input where the name of a text file is expected.
inline constexpr std::string_view kStandardInput = "-";

// The token file that comes first in a folder, where nothing else is asked for.
inline constexpr std::string_view kTrainFile = "train.bin";

// A file with text, or with token ids (see is_token_file).
struct TextFile {
  std::string path;  // kStandardInput: standard input
  // What comes through standard input, which can be read only once, when it is needed again.
  std::shared_ptr<const std::string> held = nullptr;
  // Files that lie beside it to evaluate on, such as the val.bin of nanoGPT's folders.
  std::vector<std::string> validation_paths = {};

  bool is_standard_input() const { return path == kStandardInput; }
  // The path, or "standard input".
  std::string name() const;
};

// The files that a user means. Each name is one of
// - a file, or - for standard input;
// - a folder: its file `token_file`, or else train.bin, as nanoGPT's prepare.py writes them; where
//   there is neither, all that is_text_name() and neither hidden nor a README, by name, without
//   folders inside; where there is none of these, or shards.json says that the folder holds shards,
//   all that is_token_file() by name, those with _val_ in their names (as llm.c's scripts write
//   them) to evaluate on;
// - a pattern with *, ? or [...], in sorted order;
// - several of these, separated by commas.
// What is there under the whole name comes first, so that any file can be named. Throws Error for a
// name of nothing, a pattern that nothing matches, a folder without such files, and when standard
// input comes twice.
// `warnings` gets a line for every folder of which something is not read, hidden files aside, with
// counts: "texts: read 3 files; skipped 2: 1 .csv, 1 folder".
std::vector<TextFile> find_text_files(const std::vector<std::string>& names,
                                      std::string_view token_file = kTrainFile,
                                      std::vector<std::string>* warnings = nullptr);

// A name with the weight behind its last colon, as in "books/*.txt:2.5".
struct WeightedName {
  std::string name;
  // In millionths; 0: there is none.
  Index weight = 0;
};

// What is there under the whole name comes first, so that names may have colons. Throws Error for a
// weight that is 0 or above a million.
WeightedName split_weight(const std::string& name);

// Files that are sampled together, in proportion to their sizes, and how often, against others.
struct WeightedFiles {
  std::vector<TextFile> files;
  Index weight = 1;  // the weights of all have no common divisor
};

// The files that names with weights mean: of each what find_text_files() gives. Names without a
// weight beside others with one weigh 1; where none has one, all are one source. Throws Error as
// find_text_files() and split_weight() do; `warnings` is theirs.
std::vector<WeightedFiles> find_weighted_files(const std::vector<std::string>& names,
                                               std::vector<std::string>* warnings = nullptr);

// True for .txt, .text, .md, .jsonl and .ndjson, in any case, also with .gz or .zst behind.
bool is_text_name(std::string_view name);

// True for .jsonl and .ndjson, in any case, also with .gz or .zst behind.
bool is_json_lines_name(std::string_view name);

// Reads standard input, if it is among the files, into memory, so that they can be read twice.
// Throws Error when it does not fit.
void hold_standard_input(std::vector<TextFile>& files);

// Throws Error when the file is larger than the memory that is free: a sparse file may say any
// size, and the system hands out memory that it does not have. Returns its bytes; 0 where they are
// not known.
Index require_fits(const TextFile& file);

// "a.txt", "a.txt and b.txt", or "a.txt and 7 more", for messages.
std::string names_of(const std::vector<TextFile>& files);

}  // namespace headlight
