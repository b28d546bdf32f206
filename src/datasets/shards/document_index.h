#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "headlight/datasets/token_file.h"
#include "storage/input_file.h"

namespace headlight {

// Positions of the documents in a token file: the index of Megatron-LM's IndexedDataset
// (megatron/core/datasets/indexed_dataset.py), PREFIX.idx beside PREFIX.bin, little endian. The
// header has 34 bytes: the letters MMIDIDX, two zeros, version 1, the ids' type, the numbers of
// sequences and of document ends. Three arrays follow: the length of every sequence in tokens (32
// bits), its byte offset (64 bits), and the sequences before each document and in total (64 bits).
// Only the header is kept in memory.
class DocumentIndex {
 public:
  // Checks every entry once. Throws Error "PATH: ..." for a file of another kind, and if a document
  // has no token, has several sequences or does not begin at the end of the document before.
  explicit DocumentIndex(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  Index count() const { return count_; }  // number of documents
  Index token_count() const { return token_count_; }
  TokenDtype dtype() const { return dtype_; }

  // Fills `lengths` with the token counts of the documents from `first` on. Throws Error if the
  // file has changed.
  void lengths(Index first, std::span<Index> lengths) const;
  // Returns the position of a document's first token.
  Index begin(Index document) const;

 private:
  void add_up();
  Index entry_offset(Index document) const;  // file offset of its entry

  InputFile file_;
  TokenDtype dtype_ = TokenDtype::uint16;
  Index count_ = 0;
  Index token_count_ = 0;
};

// Returns PREFIX.idx for PREFIX.bin.
std::filesystem::path document_index_path(const std::filesystem::path& token_file);

// Returns the bytes of an index for documents of these lengths. `dtype` must not be automatic.
std::string document_index_bytes(std::span<const std::int32_t> lengths, TokenDtype dtype);

}  // namespace headlight
