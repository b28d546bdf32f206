#pragma once

#include "support/test.h"

namespace headlight::test {

// Returns the configuration of a small BERT: 2 layers of 2 heads, 16 tokens of context.
GptConfig small_bert(bool masked_head = true);

// Returns a BERT whose heads all matter, with the vocabulary of word_piece().
std::unique_ptr<Gpt> random_bert(bool masked_head = true, DType dtype = DType::float32);

// Returns an uncased WordPiece tokenizer: [PAD], [UNK], [CLS], [SEP], [MASK], "the", "cat" ...
std::unique_ptr<Tokenizer> word_piece();

// Writes the model and the tokenizer as transformers does. Returns the directory.
std::filesystem::path write_bert(const std::filesystem::path& directory, bool masked_head = true);

}  // namespace headlight::test
