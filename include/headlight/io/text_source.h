#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "headlight/data/documents.h"
#include "headlight/io/text_files.h"
#include "headlight/io/token_file.h"
#include "headlight/tensor/shape.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Where one part of a stream of text may end and the next begin.
enum class StreamCut {
  character,  // behind any character
  piece,      // where pieces of byte-level BPE meet: see split_between_pieces
  line,       // behind a line end; in a line of megabytes, also where its pieces meet
  end,        // nowhere: the stream is one part
};

// How the bytes of a file become text.
struct TextFormat {
  DocumentSplitOptions split = {};
  // The key of the text in JSON lines. Empty: "text", and only files that are named so (see
  // is_json_lines_name) are JSON lines; otherwise all are.
  std::string jsonl = {};
  StreamCut cut = StreamCut::piece;  // of a text that is not split into documents
  bool as_it_is = false;             // else a byte order mark is removed and "\r\n" becomes "\n"
  bool any_bytes = false;            // else the text must be UTF-8
  TokenDtype token_dtype = TokenDtype::automatic;  // of files that hold ids instead of text
  // Files of ids that have an index of their documents give these. Else, and where `split` asks for
  // none, they give a stream.
  bool token_documents = false;
  BeginToken begin = BeginToken::automatic;  // of documents and windows

  // True when a file gives documents and not one stream. A line of JSON lines is a document,
  // however plain text is split.
  bool gives_documents(const TextFile& file) const;
  bool is_json_lines(const TextFile& file) const;
};

// A document, or a part of a stream: the parts joined are the stream.
struct TextPart {
  std::string_view text;
  Index number = 0;  // of the document or part in its file, from 0 on
};

using UseText = std::function<void(const TextPart& part)>;

// Reads a text file, a few megabytes at a time, and hands on its documents, or its stream in parts.
// This is the way that every text comes in: for training, evaluation, heads, prompts and the
// tokenizer's commands. Files whose names end in .gz or .zst are decompressed; so is standard input
// that begins like one of them, and any other file unless it may hold any bytes.
//
// A line of JSON lines is {"text": "..."} (or the key that the format names), or a string by
// itself; its text is a document as it is, be it empty. Empty lines are passed over. Documents of
// other files are those of split_documents; a file may have none.
//
// Throws Error "NAME: ..." when a file cannot be read or decompressed, is not UTF-8 (the byte is
// counted from 0 in the decompressed file) or not JSON (naming the line), or when a document, a
// line of JSON or what no stream can be cut in is longer than 128 MiB; a stream with StreamCut::end
// must fit in memory. Throws whatever `use` throws.
void read_text(const TextFile& file, const TextFormat& format, const UseText& use);

// The documents of files that are not empty; a stream is one. `warnings` gets lines about texts that
// are hardly meant as they are read. Throws Error when there is none.
std::vector<std::string> read_documents(const std::vector<TextFile>& files, TextFormat format,
                                        std::vector<std::string>* warnings = nullptr);

// The whole text of one file (- for standard input), as a stream. Throws Error when it is empty,
// too.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace headlight
