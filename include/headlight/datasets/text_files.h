#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// The file name that means standard input.
inline constexpr std::string_view kStandardInput = "-";

// Default name of the token file that is preferred in a folder.
inline constexpr std::string_view kTrainFile = "train.bin";

// A file with text, or with token ids (see is_token_file).
struct TextFile {
  std::string path;  // kStandardInput: standard input
  // Content of standard input, kept because it can be read only once; null: not read yet.
  std::shared_ptr<const std::string> held = nullptr;
  // Files beside it to evaluate on, for example the val.bin of a nanoGPT folder.
  std::vector<std::string> validation_paths = {};
  // Called with numbers of bytes whose texts have been used, while the file is read.
  std::function<void(Index bytes)> on_read = {};

  bool is_standard_input() const { return path == kStandardInput; }
  // The path, or "standard input".
  std::string name() const;
};

// Returns the files for the user's names. Each name is one of
// - a file, or - for standard input;
// - a folder: its file `token_file`, else train.bin (from nanoGPT's prepare.py); else all text
//   files (is_text_name) by name, without hidden files, READMEs and subfolders; else all token
//   files (is_token_file) by name. A folder with shards.json gives token files rather than text
//   files. Token files with _val_ in their names (from llm.c's scripts) are for evaluation;
// - a pattern with *, ? or [...], in sorted order;
// - several of these, separated by commas.
// A file that exists under the whole name takes precedence, so any file can be named. Throws Error
// for an empty name, a pattern without a match, a folder without usable files, and standard input
// given twice.
// Adds a line to `warnings` for every folder with skipped files, not counting hidden ones: "texts:
// read 3 files; skipped 2: 1 .csv, 1 folder".
std::vector<TextFile> find_text_files(const std::vector<std::string>& names,
                                      std::string_view token_file = kTrainFile,
                                      std::vector<std::string>* warnings = nullptr);

// Lets texts report the read share of their bytes, 0 to 1, each time all are read. Does nothing if
// a size is unknown.
void report_reading(std::vector<TextFile>& files,
                    const std::function<void(double share)>& progress);

// A name and the weight after its last colon, as in "books/*.txt:2.5".
struct WeightedName {
  std::string name;
  // Weight in millionths; 0: no weight.
  Index weight = 0;
};

// Splits a name from its weight. The name of an existing file is not split, so names may contain
// colons. Throws Error for a weight that is 0 or above a million.
WeightedName split_weight(const std::string& name);

// Files that are sampled in proportion to their sizes, and the weight of the group.
struct WeightedFiles {
  std::vector<TextFile> files;
  Index weight = 1;  // relative to other groups; all weights have no common divisor
};

// Returns one group of files for each name, see find_text_files(). A name without a weight weighs
// 1; if no name has a weight, all files form one group. Throws Error as find_text_files() and
// split_weight() do.
std::vector<WeightedFiles> find_weighted_files(const std::vector<std::string>& names,
                                               std::vector<std::string>* warnings = nullptr);

// Returns the files of all groups.
std::vector<TextFile> find_all_files(const std::vector<std::string>& names);

// True for .txt, .text, .md, .jsonl and .ndjson, in any case, also followed by .gz or .zst.
bool is_text_name(std::string_view name);

// True for .jsonl and .ndjson, in any case, also followed by .gz or .zst.
bool is_json_lines_name(std::string_view name);

// True for .csv and .tsv, in any case, also followed by .gz or .zst.
bool is_table_name(std::string_view name);

// Reads standard input into memory if it is one of the files, so that it can be read twice. Throws
// Error if it does not fit.
void hold_standard_input(std::vector<TextFile>& files);

// Throws Error if the file is larger than the free memory. Returns its size in bytes; 0 if unknown.
// A sparse file can claim any size, and the system hands out memory that it lacks.
Index require_fits(const TextFile& file);

// "a.txt", "a.txt and b.txt", or "a.txt and 7 more", for messages.
std::string names_of(const std::vector<TextFile>& files);

}  // namespace headlight
