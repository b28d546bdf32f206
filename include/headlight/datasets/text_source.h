#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "headlight/datasets/documents.h"
#include "headlight/datasets/text_files.h"
#include "headlight/datasets/token_file.h"
#include "headlight/tensor/shape.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Positions where a stream of text may be cut into parts.
enum class StreamCut {
  character,  // after any character
  piece,      // between pieces of byte-level BPE: see split_between_pieces
  line,       // after a line end; in a line of megabytes, also between pieces
  end,        // nowhere: the stream is one part
};

// How the bytes of a file become text.
struct TextFormat {
  DocumentSplitOptions split = {};
  // Key of the text in JSON lines. Empty: the key is "text", and only files with a matching name
  // (is_json_lines_name), and .json files whose records have this key, are JSON lines. Otherwise
  // all files are, and in tables (is_table_name) it names a column.
  std::string jsonl = {};
  StreamCut cut = StreamCut::piece;  // for text that is not split into documents
  bool as_it_is = false;             // if false, drops a byte order mark and turns "\r\n" into "\n"
  bool any_bytes = false;            // if false, the text must be UTF-8
  TokenDtype token_dtype = TokenDtype::automatic;  // width of ids in token files
  // If true, token files with an index give documents even if `split` is none.
  bool token_documents = false;
  BeginToken begin = BeginToken::automatic;  // for documents and windows

  // True if a file gives documents and not a stream. Each line of a JSON lines file is a document.
  bool gives_documents(const TextFile& file) const;
  bool is_json_lines(const TextFile& file) const;
};

// A document, or one part of a stream. All parts joined are the stream.
struct TextPart {
  std::string_view text;
  Index number = 0;  // index of the document or part in its file
};

using UseText = std::function<void(const TextPart& part)>;

// Reads a text file, a few megabytes at a time, and calls `use` for each document or each part of a
// stream. Training, evaluation, heads, prompts and the tokenizer's commands all read text with it.
// Decompresses files named .gz or .zst, and standard input with a gzip or zstd header. Other files
// with that header are decompressed unless any_bytes is set.
//
// A line of JSON lines is {"text": "..."} (or the format's key), or a plain string. Its text is one
// document, unchanged and possibly empty. Blank lines are skipped. split_documents cuts other files
// into documents; there may be none.
//
// Throws Error "NAME: ..." if a file cannot be read or decompressed, is not UTF-8 (with the byte
// offset in the decompressed file) or not JSON (with the line number). Throws Error if a document,
// a line of JSON, or a stretch of a stream without a position to cut exceeds 128 MiB. A stream with
// StreamCut::end must fit in memory. Passes on exceptions from `use`.
void read_text(const TextFile& file, const TextFormat& format, const UseText& use);

// Calls `use` for the parts of a text file, whatever the name of the file says about its format.
// Throws Error as read_text() does, without reading records.
void read_characters(const TextFile& file, const UseText& use);

// A line of a file that is not blank.
using UseLine = std::function<void(std::string_view line, Index number)>;

// Calls `use` for each line with its number from 1, whatever the name of the file says about its
// format. Throws Error as read_text() does, without reading the lines as JSON.
void read_lines(const TextFile& file, const UseLine& use);

// Returns the non-empty documents of the files; a stream is one document. Adds lines to `warnings`
// for texts that look like JSON or a table, or hold decomposed Hangul. Throws Error without
// documents.
std::vector<std::string> read_documents(const std::vector<TextFile>& files, TextFormat format,
                                        std::vector<std::string>* warnings = nullptr);

// Returns the whole text of one file (- for standard input). Throws Error also if it is empty.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace headlight
