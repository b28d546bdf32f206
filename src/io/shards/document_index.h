#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "files/input_file.h"
#include "headlight/io/token_file.h"

namespace headlight {

// Where the documents of a token file lie: the index of Megatron-LM's IndexedDataset
// (megatron/core/datasets/indexed_dataset.py), PREFIX.idx beside PREFIX.bin. Behind a header of 34
// bytes (the letters MMIDIDX, two zeros, version 1, the ids' type, the numbers of sequences and of
// document ends) it holds the tokens of every sequence (32 bits), the byte at which each begins (64
// bits) and the sequences before each document and in all (64 bits), little endian. Only the header
// is kept in memory.
class DocumentIndex {
 public:
  // Looks at every entry once. Throws Error "PATH: ..." for what is no such index, and when a
  // document has no token, has several sequences or does not begin where the one before ends.
  explicit DocumentIndex(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  Index count() const { return count_; }  // of documents
  Index token_count() const { return token_count_; }
  TokenDtype dtype() const { return dtype_; }

  // Fills `lengths` with the tokens of the documents from `first` on. Throws Error when the file
  // has changed.
  void lengths(Index first, std::span<Index> lengths) const;
  // The place of a document's first token.
  Index begin(Index document) const;

 private:
  void add_up();
  Index place_of(Index document) const;  // of its beginning in this file

  InputFile file_;
  TokenDtype dtype_ = TokenDtype::uint16;
  Index count_ = 0;
  Index token_count_ = 0;
};

// PREFIX.idx of PREFIX.bin.
std::filesystem::path document_index_path(const std::filesystem::path& token_file);

// The bytes of an index of documents with so many tokens each; `dtype` is not automatic.
std::string document_index_bytes(std::span<const std::int32_t> lengths, TokenDtype dtype);

}  // namespace headlight
